"""Relations in buckets, side by side: what each says of its part of the rows is what one says of all."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from tests.cases import first
from tests.properties.relations import Scenario, assert_right, disagreements, scenario
from tests.unit.engine.relations.loom import Loom
from weft.engine.buckets import Share
from weft.engine.relations.parting import part
from weft.optimize.pipeline import optimize_program
from weft.share.build import build
from weft.share.relations.bucketing import bucketing_of, parted
from weft.testing.harness import bound

BUCKETS = 3
SEEDS = range(10)


class Buckets(Loom):
    """One loom for each bucket, with the queries that have a key."""

    def __init__(self, made: Scenario, bucket: int) -> None:
        super().__init__(optimize_program(bound(made.text)))
        spreads = {name: spread for spread in bucketing_of(self.plan).spreads for name in spread.queries}
        related = [
            replace(each, relation=parted(each.relation, spreads[each.query.name]))
            for each in self.plan.related
            if each.query.name in spreads
        ]
        self.named = set(spreads)
        self.share = Share(bucket, BUCKETS)
        self.relations.adopt(replace(self.plan, related=tuple(related)), self.program, {})

    def fold(self, stream: str, rows: pa.Table) -> None:
        self.relations.fold(stream, self.batches, lambda by: part(rows, by, self.share))


def told(made: Scenario) -> tuple[Scenario, dict[str, pa.Table]]:
    """What all buckets say of the queries that have a key, and the scenario of these."""
    looms = [Buckets(made, bucket) for bucket in range(BUCKETS)]
    for loom in looms:
        for stream, rows in made.feeds:
            loom.feed(stream, rows)
        loom.drain()
    names = looms[0].named
    results = [loom.results(names) for loom in looms]
    return made.only(*names), {name: pa.concat_tables([each[name] for each in results]) for name in names}


def drawn(seed: int) -> Scenario:
    return scenario(Random(5000 + seed), 8, 30, f"found by seed {5000 + seed}, in buckets")


def test_many_of_these_queries_have_a_key() -> None:
    keyed = [len(bucketing_of(build(optimize_program(bound(drawn(seed).text)))).queries()) for seed in SEEDS]
    assert sum(keyed) > 1.5 * len(SEEDS)


@pytest.mark.parametrize("seed", [*SEEDS, *first(0, range(10, 30))])
def test_buckets_say_together_what_the_reference_says(seed: int) -> None:
    keyed, results = told(drawn(seed))
    wrong = disagreements(keyed, results)
    assert_right(keyed, wrong)


def test_rows_lie_in_one_bucket_each_and_rows_without_their_key_in_none() -> None:
    rows = pa.table({"k": ["A", "B", None, "A", "C", "D"], "v": pa.array(range(6))})
    parts = [part(rows, ["k"], Share(bucket, BUCKETS)) for bucket in range(BUCKETS)]
    assert sorted(row for each in parts for row in each.column("v").to_pylist()) == list(range(6))
    assert all(len({0, 3} & set(each.column("v").to_pylist())) != 1 for each in parts)
    assert not part(rows, ["j"], Share(0, 1)).num_rows
