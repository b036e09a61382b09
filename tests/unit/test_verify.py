"""What `verify` says before it needs Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.verify import verify

TEXT = """
CREATE STREAM a (id INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS FROM parquet OPTIONS ('path' = 'a');
CREATE QUERY pairs AS SELECT x.id FROM a [RANGE 1 MINUTE] x JOIN a [RANGE 1 MINUTE] y ON x.id = y.id;
"""


def test_a_query_over_several_sources_is_not_verified_and_says_so(tmp_path: Path) -> None:
    found = verify(cast(Any, None), tmp_path, bind_program(parse_program(TEXT)), "PAIRS")
    assert (found.query, found.equal, found.differences) == ("pairs", False, [])
    assert "cannot be verified yet" in found.note
