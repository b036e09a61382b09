"""Small programs for the tests of the planner."""

from __future__ import annotations

from collections.abc import Mapping

from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Aggregate, Plan, Program, Query
from weft.plan.tree import walk

STREAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, fee DECIMAL(10, 2), live BOOLEAN, ts TIMESTAMP,
                      tags ARRAY<STRING>)
  TIMESTAMP BY ts DELAY 5 SECONDS FROM parquet OPTIONS ('path' = 'in');
"""
WINDOW = "[RANGE 1 MINUTE SLIDE 10 SECONDS]"


def program(text: str, types: Mapping[str, str] | None = None) -> Program:
    return bind_program(parse_program(STREAM + text), types)


def query(select: str, types: Mapping[str, str] | None = None) -> Query:
    return program(f"CREATE QUERY q AS {select}", types).queries[0]


def aggregate_of(plan: Plan) -> Aggregate:
    return next(node for node in walk(plan) if isinstance(node, Aggregate))
