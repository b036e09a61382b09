"""Tables among joins, DISTINCT and absence, against brute-force SQL over the whole history."""

from __future__ import annotations

from typing import Any

import pytest

from tests.properties.relationtruth import DuckTruth
from tests.unit.engine.tabled import NAMES, batch, entries, made, program, rows, sql
from tests.unit.engine.test_lookups import Live, run
from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.plan.nodes import Named
from weft.plan.relations import Distinct, Emitted, Kept, Lasting, Made, Merged, Paired, Relation, Whether
from weft.testing.lives import relation_difference
from weft.testing.values import rows_of
from weft.times import SECOND

ON, KEYS = sql("_s0_k = _s1_k"), (Named("k", sql("_s0_k"), "string"), Named("w", sql("_s1_w"), "bigint"))
LOOKED = Paired(JoinKind.LEFT, rows(), entries(), ON)
TABLE = entries(retroactive=True)
SHORT = rows(range_=4 * SECOND, at=2)

SHAPES: dict[str, tuple[Relation, Emission]] = {
    "looked": (LOOKED, Emission.LIVES),
    "some": (Paired(JoinKind.INNER, rows(), entries(where="w > 0"), ON), Emission.LIVES),
    "every": (Paired(JoinKind.INNER, entries(), rows(), None), Emission.LIVES),
    "kept": (Kept(LOOKED, sql("_s0_v > COALESCE(_s1_w, 0)")), Emission.ISTREAM),
    "distinct": (Distinct(Made(LOOKED, KEYS)), Emission.LIVES),
    "pairs": (Paired(JoinKind.INNER, LOOKED, SHORT, sql("_s0_k = _s2_k")), Emission.LIVES),
    "after": (
        Paired(JoinKind.LEFT, Paired(JoinKind.INNER, rows(), SHORT, sql("_s0_k = _s2_k")), entries(), ON),
        Emission.LIVES,
    ),
    "twice": (Paired(JoinKind.LEFT, LOOKED, entries(at=3), sql("_s1_w = _s3_w")), Emission.LIVES),
    "absent": (Whether(LOOKED, SHORT, sql("_s0_k = _s2_k AND _s2_v > _s0_v"), True), Emission.DSTREAM),
    "revised": (Paired(JoinKind.LEFT, rows(), TABLE, ON), Emission.ISTREAM),
    "lasting": (
        Lasting(Made(Paired(JoinKind.INNER, rows(), TABLE, ON), KEYS), 3 * SECOND),
        Emission.LIVES,
    ),
    "both": (Paired(JoinKind.INNER, LOOKED, entries(retroactive=True, at=3), sql("_s0_k = _s3_k")),
             Emission.DSTREAM),
    "apart": (
        Merged(SetKind.EXCEPT, True, Made(LOOKED, KEYS), Made(TABLE, (
            Named("k", sql("_s1_k"), "string"), Named("w", sql("_s1_w"), "bigint"),
        ))),
        Emission.ISTREAM,
    ),
}  # fmt: skip


def truth(live: Live) -> DuckTruth:
    known = DuckTruth(program().streams, (NAMES,))
    known.feed("quotes", batch(live.history.rows))
    starts = [-(2**62) if since is None else since * SECOND + 1 for since, _ in live.history.versions]
    found: list[tuple[Any, ...]] = []
    for (_, some), start, end in zip(live.history.versions, starts, [*starts[1:], None]):
        found += [(*entry, start, end) for entry in some]
    known.versions("names", found)
    return known


@pytest.mark.parametrize("seed", range(12))
def test_tables_among_other_operators_mean_what_sql_says(seed: int) -> None:
    asked = {name: made(relation, emission) for name, (relation, emission) in SHAPES.items()}
    live = Live(program(**asked))
    run(live, seed)
    live.answer(10**6)
    known = truth(live)
    for name, relation in asked.items():
        assert not different(relation, known, live.found[name]), name


def different(relation: Emitted, known: DuckTruth, found: list[Any]) -> str:
    rows_found = [row for table in found for row in rows_of(table)]
    return relation_difference(relation, known.told(relation), rows_found)
