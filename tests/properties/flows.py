"""Random programs over tables that are made of the changes of a stream, with their rows.

Two streams, a table made of one of them, and queries of all kinds that tables may stand in. Rows come out of
order within the delay; many changes have the same key and time, and of those the one that came last counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from tests.properties.relations import scenario
from tests.properties.relationtruth import DuckTruth
from weft.plan.nodes import Program, Related
from weft.plan.relations import Emitted
from weft.plan.relationtree import streams
from weft.testing.harness import bound
from weft.testing.lives import relation_difference
from weft.testing.values import micros, rows_of
from weft.times import Instant

SEEN = (
    "SELECT x.k, x.v, p.w FROM a {window} x JOIN t p ON x.k = p.k",
    "SELECT x.k, p.v, p.w FROM a {window} x LEFT JOIN t p ON x.k = p.k AND x.w >= p.v",
    "SELECT x.v, p.k FROM t p JOIN a {window} x ON x.v = p.v WHERE p.w > 0",
    "SELECT x.v, p.k FROM t p RIGHT JOIN b {window} x ON x.v = p.v",
    "SELECT x.k, x.v FROM b {window} x WHERE NOT EXISTS (SELECT 1 FROM t p WHERE p.k = x.k)",
    "SELECT x.k, x.v FROM b {window} x LEFT SEMI JOIN t p ON p.v = x.v",
    "SELECT x.k FROM b {window} x LEFT ANTI JOIN t p ON p.k = x.k AND p.w = x.w",
    "SELECT x.k, p.w FROM b {window} x CROSS JOIN t p",
)
ABOVE = (
    "SELECT DISTINCT j.k, j.v FROM ({}) j",
    "SELECT j.k, COUNT(*) AS n, SUM(j.v) AS total FROM ({}) j GROUP BY j.k",
    "SELECT ISTREAM(*) FROM ({}) j",
    "SELECT DSTREAM(*) FROM ({}) j",
    "SELECT j.k, y.v FROM ({}) j JOIN b {window} y ON j.k = y.k",
    "SELECT j.k FROM ({}) j EXCEPT SELECT k FROM b {window}",
)
JOINED = "SELECT x.k, x.v, p.w FROM a {window} x JOIN t p ON x.k = p.k"
REVISED = (
    "SELECT * FROM t RETROACTIVE",
    "SELECT x.k, x.v, p.w FROM a {window} x JOIN t RETROACTIVE p ON x.k = p.k",
    "SELECT x.k, p.v, p.w FROM b {window} x LEFT JOIN t RETROACTIVE p ON x.k = p.k",
    "SELECT x.k, p.w FROM b {window} x FULL JOIN t RETROACTIVE p ON x.v = p.v",
    "SELECT x.k, x.v FROM b {window} x WHERE NOT EXISTS (SELECT 1 FROM t RETROACTIVE p WHERE p.k = x.k)",
    "SELECT DSTREAM(*) FROM (SELECT x.k, p.w FROM a {window} x JOIN t RETROACTIVE p ON x.k = p.k) j",
    "SELECT x.v FROM a {window} x WHERE x.k NOT IN (SELECT k FROM t RETROACTIVE WHERE v >= 0)",
    "SELECT DISTINCT p.v FROM t RETROACTIVE p WHERE p.w >= 0",
    "SELECT p.v, COUNT(*) AS n FROM t RETROACTIVE p GROUP BY p.v",
    "SELECT k FROM t RETROACTIVE EXCEPT ALL SELECT k FROM b {window}",
)
SLIDING = (
    "SELECT x.k, COUNT(*) AS n, SUM(p.w) AS total FROM a {slide} x JOIN t p ON x.k = p.k GROUP BY x.k",
    "SELECT x.k, p.v FROM b {slide} x LEFT JOIN t p ON x.k = p.k",
    "SELECT x.k, p.v FROM b {slide} x JOIN t RETROACTIVE p ON x.k = p.k",
    "SELECT RSTREAM(x.k) FROM b {slide} x WHERE NOT EXISTS (SELECT 1 FROM t RETROACTIVE p WHERE p.v = x.v)",
)


@dataclass(frozen=True)
class Flowing:
    """A program over a table of changes, and its batches in the order they come."""

    name: str
    declarations: str
    queries: tuple[tuple[str, str], ...]
    feeds: tuple[tuple[str, pa.Table], ...]

    @property
    def text(self) -> str:
        queries = (f"CREATE QUERY {name} AS {query};" for name, query in self.queries)
        return "\n".join([self.declarations, *queries])

    @property
    def program(self) -> Program:
        return bound(self.text)

    def only(self, *names: str) -> Flowing:
        return replace(self, queries=tuple(query for query in self.queries if query[0] in names))


def flowing(rng: Random, queries: int, rows: int, name: str, changes: bool = False) -> Flowing:
    """So many queries over `rows` rows; `changes`: all of them EMIT CHANGES."""
    drawn = scenario(rng, 0, rows)
    key, deleted = rng.choice(["k", "k", "k, v"]), rng.choice(["", "", "DELETE WHERE w = 2 "])
    table = f"CREATE TABLE t KEY ({key}) {deleted}FROM STREAM {rng.choice(['a', 'b', 'b'])}"
    times = [micros(at) for _, rows in drawn.feeds for at in rows.column("at").to_pylist()] or [0]
    asked = [(f"q{number}", _query(rng, times, changes)) for number in range(queries)]
    declarations = "".join(f"{one};\n" for one in (*drawn.declarations, table))
    return Flowing(name, declarations, tuple(asked), drawn.feeds)


def _query(rng: Random, times: list[int], changes: bool) -> str:
    """Its windows are as long as rows lie apart, so that some come when others go."""
    told = [one for one in (*SEEN, *ABOVE, *REVISED) if "STREAM" not in one]
    text = rng.choice(told if changes else rng.choice([SEEN, SEEN, ABOVE, REVISED, REVISED, SLIDING]))
    length = abs(rng.choice(times) - rng.choice(times)) or 1
    slide = max(length // rng.choice([1, 2, 3]), (max(times) - min(times)) // 50, 1)
    window = f"[RANGE {length} MICROSECONDS]"
    sliding = f"{window[:-1]} SLIDE {slide} MICROSECONDS]"
    made = text.replace("{}", JOINED).replace("{window}", window).replace("{slide}", sliding)
    return made + (" EMIT CHANGES" if changes else "")


def truth(made: Flowing) -> DuckTruth:
    """The whole history, to be asked."""
    program = bound(made.declarations)
    known = DuckTruth(program.streams, program.tables)
    for stream, rows in made.feeds:
        known.feed(stream, rows)
    return known


def disagreements(
    made: Flowing, found: dict[str, pa.Table], bounds: Mapping[str, Instant] | None = None
) -> dict[str, str]:
    """The queries of which something else is told than the reference tells, each with the difference.

    `bounds`: some queries see only what came after some time.
    """
    known = truth(made)
    differences = {}
    for query in made.program.queries:
        assert isinstance(query.plan, Related)
        relation = query.plan.relation
        assert isinstance(relation, Emitted)
        bound_ = (bounds or {}).get(query.name)
        after = None if bound_ is None else dict.fromkeys(streams(relation), bound_)
        told = known.told(relation, after=after)
        differences[query.name] = relation_difference(relation, told, rows_of(found[query.name]))
    return {name: text for name, text in differences.items() if text}


def shown(made: Flowing, wrong: dict[str, str]) -> str:
    """What is wrong, and all that it takes to see it again."""
    feeds = [f"{stream}\n{rows.to_pandas().to_string()}" for stream, rows in made.feeds]
    return "\n".join([made.name, made.only(*wrong).text, *feeds, *wrong.values()])
