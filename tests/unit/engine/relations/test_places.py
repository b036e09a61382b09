"""Random queries with absence in each of its places, carried out: what the reference says, every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.properties.relationqueries import Sizes
from tests.properties.relations import Scenario, as_case, assert_right, disagreements, scenario
from tests.unit.engine.relations.loom import Loom, resume
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Program, Related
from weft.plan.relationplacing import places
from weft.plan.relations import Relation
from weft.testing.harness import bound

SIZES = Sizes(sources=(2, 2, 3), absence=1.0, set_operation=0.1, distinct=0.1, grouped=0.15, outer=0.3)


SEEDS = range(7000, 7006)


def drawn(seed: int) -> tuple[Scenario, Program, list[tuple[Relation, ...]]]:
    """A program, and of each query the ways to write it."""
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}, absence moved", sizes=SIZES)
    program = optimize_program(bound(made.text))
    plans = [query.plan for query in program.queries]
    return made, program, [places(plan.relation) for plan in plans if isinstance(plan, Related)]


def test_absence_has_several_places_in_these_programs() -> None:
    assert sum(len(ways) > 1 for seed in SEEDS for ways in drawn(seed)[2]) >= len(SEEDS)


def placed(program: Program, ways: Sequence[tuple[Relation, ...]], at: int) -> Loom:
    """The program with every query written the way of this number, around and around."""
    loom = Loom(program)
    related = [
        replace(each, relation=way[at % len(way)]) for each, way in zip(loom.plan.related, ways, strict=True)
    ]
    loom.plan = replace(loom.plan, related=tuple(related))
    loom.relations.adopt(loom.plan, program, {})
    return loom


@pytest.mark.parametrize("seed", SEEDS)
def test_every_place_gives_the_same_answers(seed: int) -> None:
    made, program, ways = drawn(seed)
    for at in range(max(map(len, ways))):
        loom = placed(program, ways, at)
        for stream, rows in made.feeds:
            loom.feed(stream, rows)
        loom.drain()
        wrong = disagreements(made, loom.results())
        assert not wrong, f"way {at} of {as_case(made.only(*wrong))}" + "\n".join(wrong.values())


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_another_place_after_a_stop_tells_nothing_twice(seed: int) -> None:
    made, program, ways = drawn(seed)
    stop = Random(seed).randrange(1, len(made.feeds))
    before, after = placed(program, ways, 0), placed(program, ways, 1)
    for stream, rows in made.feeds[:stop]:
        before.feed(stream, rows)
    resume(after, before, made.feeds[:stop])
    for stream, rows in made.feeds[stop:]:
        after.feed(stream, rows)
    after.drain()
    wrong = disagreements(made, after.results())
    assert_right(made, wrong)
