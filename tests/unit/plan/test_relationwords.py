"""What columns are called in plans that people read."""

from __future__ import annotations

import pytest

from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Related
from weft.plan.relations import Relation
from weft.plan.relationshow import show_relation_node
from weft.plan.relationtree import walk

STREAMS = """
CREATE STREAM a (k STRING, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
  FROM parquet OPTIONS ('path' = 'a');
CREATE STREAM b (k STRING, v BIGINT, `an odd one` BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
  FROM parquet OPTIONS ('path' = 'b');
"""
JOIN = "FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k"


def shown(query: str) -> list[str]:
    program = optimize_program(bind_program(parse_program(f"{STREAMS}CREATE QUERY q AS {query};")))
    plan = program.queries[0].plan
    assert isinstance(plan, Related)
    relation: Relation = plan.relation
    return [show_relation_node(node) for node in walk(relation)]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (f"SELECT x.k, y.v {JOIN}", "Paired inner on a.k = b.k"),
        (f"SELECT x.k, y.v AS w {JOIN}", "Made: k = a.k, w = b.v"),
        (f"SELECT x.k, y.`an odd one` AS w {JOIN}", "Made: k = a.k, w = b.`an odd one`"),
        (f"SELECT x.k, y.v AS w {JOIN}", "Rows b for 1 min: k, v"),
        ("SELECT x.v FROM a [RANGE 1 MINUTE] x, a [RANGE 1 HOUR] y WHERE x.k = y.k AND x.v < y.v",
         "Paired inner on a.k = a#2.k AND a.v < a#2.v"),
        (f"SELECT (x.v + x.v) * y.v AS n {JOIN}", "Made: n = (a.v + a.v) * b.v"),
        (f"SELECT SUM(x.v * 2) AS s {JOIN} HAVING SUM(x.v * 2) > 3", "Kept sum(a.v * 2) > 3"),
        (f"SELECT n + 1 AS m FROM (SELECT x.k, COUNT(*) AS n {JOIN} GROUP BY x.k)", "Made: m = count(*) + 1"),
        (f"SELECT m FROM (SELECT DISTINCT x.v + y.v AS m {JOIN}) WHERE m > 3", "Made: m"),
        ("SELECT k FROM a [RANGE 1 MINUTE] EXCEPT SELECT k FROM b [RANGE 1 MINUTE]", "Rows a for 1 min: k"),
    ],
)  # fmt: skip
def test_what_is_said(query: str, said: str) -> None:
    assert said in shown(query)
