"""A query over views and tables is another one when they mean something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.unit.engine.relations.homes import OnHome
from tests.unit.verify.programs import names, rows
from weft.errors import RunError
from weft.log.home import Home
from weft.log.series import Series
from weft.optimize.pipeline import optimize_program
from weft.testing.harness import bound
from weft.verify import verify

TEXT = """
CREATE STREAM sent (id BIGINT, n BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'unread');
CREATE TABLE names (id BIGINT, name STRING) {table} FROM parquet OPTIONS ('path' = '{path}');
CREATE VIEW high AS SELECT id, n FROM sent [RANGE 6 SECONDS] WHERE n > {least};
CREATE VIEW higher AS SELECT id FROM high WHERE n > 1;
CREATE QUERY all_ids AS SELECT id FROM sent [RANGE 6 SECONDS];
CREATE QUERY ids AS SELECT id FROM higher;
CREATE QUERY named AS SELECT s.id, name FROM sent [RANGE 6 SECONDS] s JOIN names t ON s.id = t.id;
"""


def text(least: int = 0, table: str = "", path: str = "names") -> str:
    return TEXT.format(least=least, table=table, path=path)


def versions(home: OnHome) -> dict[str, int]:
    return {name: version.version for name, version in home.runtime.running.items()}


def started(tmp_path: Path) -> OnHome:
    home = OnHome(tmp_path / "home")
    home.start(text())
    home.revise("names", names((1, "one")))
    home.ingest("sent", rows((1, 3, 0), (2, 1, 1)))
    return home


def test_a_view_that_changed_makes_new_versions_of_the_queries_over_it(tmp_path: Path) -> None:
    home = started(tmp_path)
    home.restart(text(least=5))
    assert versions(home) == {"all_ids": 1, "ids": 2, "named": 1}
    home.ingest("sent", rows((7, 5, 2), (8, 6, 3)))
    assert home.results("ids").column("id").to_pylist() == [8]
    home.change(text())
    assert versions(home) == {"all_ids": 1, "ids": 3, "named": 1}
    home.stop()


def test_how_a_table_is_seen_counts_but_not_from_where_it_is_read(tmp_path: Path) -> None:
    home = started(tmp_path)
    home.restart(text(path="others"))
    assert versions(home) == {"all_ids": 1, "ids": 1, "named": 1}
    home.restart(text(table="RETROACTIVE"))
    assert versions(home) == {"all_ids": 1, "ids": 1, "named": 2}
    home.stop()


def test_what_an_older_home_did_not_write_down_is_taken_to_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Series.commit

    def as_before(self: Series, number: int, tables: Any, meta: Any, *rest: Any) -> Any:
        if "add" in meta:
            meta["add"] = [added[:5] for added in meta["add"]]
        return commit(self, number, tables, meta, *rest)

    monkeypatch.setattr(Series, "commit", as_before)
    home = started(tmp_path)
    monkeypatch.undo()
    home.restart(text(least=5))
    assert versions(home) == {"all_ids": 1, "ids": 1, "named": 1}
    home.stop()


def test_a_query_that_changed_is_not_verified_as_what_it_was(tmp_path: Path) -> None:
    started(tmp_path).stop()
    program = optimize_program(bound(text(least=5)))
    with pytest.raises(RunError, match="query `ids`, or a view or table that it reads") as told:
        verify(cast(Any, None), Home.look(tmp_path / "home").path, program, "ids")
    assert told.value.code == "query-changed"
