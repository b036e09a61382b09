"""The SQL that says what relations mean, judged by a few loops, and by what must hold of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings

from tests.properties.plainly import disagreements, histories
from tests.properties.relations import Scenario, as_case, assert_right, scenario, scenarios, truth
from tests.properties.relationsizes import EVERYTHING
from tests.properties.relationtruth import DuckTruth
from tests.properties.test_programs import QUICK
from tests.sql.oracles import DuckOracle
from weft.lang.bodies import Emission
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.optimize.pipeline import optimize
from weft.plan.nodes import Related
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import Emitted
from weft.reference import relation_sql
from weft.reference.bags import slides_of
from weft.testing.cases import read_cases
from weft.testing.compare import difference
from weft.testing.harness import bound, check
from weft.testing.lives import alive, relation_difference
from weft.testing.values import micros, rows_of

Row = tuple[Any, ...]


@given(scenarios())
@settings(QUICK, max_examples=8)
def test_the_sql_says_what_a_few_loops_say(made: Scenario) -> None:
    wrong = disagreements(made)
    assert_right(made, wrong)


def emissions(made: Scenario) -> Iterator[Emitted]:
    """Every query with everything that can be told of it."""
    for relation in made.relations.values():
        told = (Emission.ISTREAM, Emission.DSTREAM)
        told += (Emission.RSTREAM,) if slides_of(relation) else (Emission.LIVES, Emission.CHANGES)
        yield from (replace(relation, emission=emission) for emission in told)


def without_window(row: Row) -> Row:
    """A row of a window with the last instant of that as its time."""
    _, end, *rest = row
    return (end - timedelta(microseconds=1), *rest)


def changes(bags: dict[int, list[Row]]) -> list[Row]:
    """What comes and goes from one bag to the next: sign, time and row."""
    before: Counter[Row] = Counter()
    made: list[Row] = []
    for at, rows in bags.items():
        now = Counter(rows)
        made += [("+", at, *row) for row in (now - before).elements()]
        made += [("-", at, *row) for row in (before - now).elements()]
        before = now
    return made


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_what_is_told_are_the_differences_of_the_bags(made: Scenario) -> None:
    known = truth(made)
    for relation in emissions(made):
        bags = known.bags(relation)
        told = [tuple(row) for row in known.told(relation)]
        moved = changes(bags)
        match relation.emission:
            case Emission.RSTREAM:
                expected, found = [row for bag in bags.values() for row in bag], told
            case Emission.ISTREAM | Emission.DSTREAM:
                if slides_of(relation):
                    moved = changes({at: [row[2:] for row in bag] for at, bag in bags.items()})
                    told = [without_window(row) for row in told]
                sign = "+" if relation.emission is Emission.ISTREAM else "-"
                expected = [row[1:] for row in moved if row[0] == sign]
                found = [(micros(row[0]), *row[1:]) for row in told]
            case Emission.CHANGES:
                expected, found = moved, [(row[0], micros(row[1]), *row[2:]) for row in told]
            case _:
                expected, found = _lives(relation, bags, moved, told)
        assert not difference(expected, found), relation


def _lives(
    relation: Emitted, bags: dict[int, list[Row]], moved: list[Row], told: list[Row]
) -> tuple[list[Row], list[Row]]:
    """Lives that end are the bags as of every instant; others begin when rows come up."""
    if relation_pattern(relation) is Pattern.STRICT:
        return [row[1:] for row in moved if row[0] == "+"], [(micros(row[0]), *row[2:]) for row in told]
    return (
        [(at, *row) for at, bag in bags.items() for row in bag],
        [(at, *row) for at in bags for row in alive(told, at)],
    )


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_a_row_missing_or_too_many_is_seen(made: Scenario) -> None:
    known = truth(made)
    for relation in emissions(made):
        told = known.told(relation)
        assert not relation_difference(relation, told, told[::-1])
        if told:
            assert relation_difference(relation, told, told[1:])
            assert relation_difference(relation, told[1:], told)


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_what_is_final_needs_no_later_rows(made: Scenario) -> None:
    whole, streams = truth(made), histories(made).streams
    times = sorted(row["at"] for rows in streams.values() for row in rows)
    if not times:
        return
    upto = times[len(times) // 2]
    early = cut_off(made, None, upto)
    for relation in emissions(made):
        assert not relation_difference(
            relation,
            sure(relation, early.told(relation, upto=upto), upto),
            sure(relation, whole.told(relation, upto=upto), upto),
        )


def sure(relation: Emitted, told: list[Row], upto: int) -> list[Row]:
    """Of lives, the part before `upto`: later equal rows may make one of two."""
    if relation.emission is not Emission.LIVES:
        return told
    return [(row[0], None if row[1] is None or micros(row[1]) >= upto else row[1], *row[2:]) for row in told]


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_a_query_that_comes_later_sees_later_rows(made: Scenario) -> None:
    whole, streams = truth(made), histories(made).streams
    times = sorted(row["at"] for rows in streams.values() for row in rows)
    if not times:
        return
    after = times[len(times) // 3]
    late = cut_off(made, after, None)
    for relation in emissions(made):
        bounds = dict.fromkeys(streams, after)
        assert not relation_difference(relation, late.told(relation), whole.told(relation, after=bounds))


def cut_off(made: Scenario, after: int | None, upto: int | None) -> DuckTruth:
    """The truth over the rows later than `after` and before `upto` alone."""
    known = DuckTruth(made.streams.streams)
    for stream, rows in made.feeds:
        times = rows["at"].cast("int64")
        seen = pc.and_(
            pc.greater(times, -(2**63) if after is None else after),
            pc.less(times, 2**63 - 1 if upto is None else upto),
        )
        known.feed(stream, rows.filter(seen))
    return known


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_the_oracle_tells_all_in_the_end_and_takes_nothing_back(made: Scenario) -> None:
    oracle, known = DuckOracle(), truth(made)
    oracle.start(made.text)
    relations = {name: one for name, one in made.relations.items() if one.emission is not Emission.LIVES}
    told: dict[str, Counter[Row]] = {name: Counter() for name in relations}
    for stream, rows in made.feeds:
        oracle.ingest(stream, rows)
        for name, before in told.items():
            told[name] = Counter(rows_of(oracle.results(name)))
            assert not before - told[name], as_case(made.only(name))
    oracle.drain(None)
    for name, relation in made.relations.items():
        assert not relation_difference(relation, known.told(relation), rows_of(oracle.results(name)))


@given(scenarios(most_queries=2, most_rows=12, sizes=EVERYTHING))
@settings(QUICK, max_examples=6)
def test_the_sql_says_what_a_few_loops_say_of_all_that_can_be_asked(made: Scenario) -> None:
    wrong = disagreements(made)
    assert_right(made, wrong)


@given(scenarios(most_queries=10, most_rows=0, sizes=EVERYTHING))
@settings(QUICK, max_examples=40)
def test_all_that_can_be_asked_is_read_printed_and_bound(made: Scenario) -> None:
    for statement in parse_program(made.text):
        assert parse_program(print_statement(statement)) == (statement,)
    relations = made.relations
    for query in bound(made.text).queries:
        assert query.plan == Related(relations[query.name]), query.statement


@given(scenarios(most_queries=10, most_rows=0))
@settings(QUICK, max_examples=40)
def test_what_is_asked_can_be_read_and_printed(made: Scenario) -> None:
    for statement in parse_program(made.text):
        assert parse_program(print_statement(statement)) == (statement,)


@given(scenarios(most_queries=10, most_rows=0))
@settings(QUICK, max_examples=40)
def test_what_is_asked_is_bound_to_the_relation_it_means(made: Scenario) -> None:
    relations = made.relations
    for query in bound(made.text).queries:
        assert query.plan == Related(relations[query.name]), query.statement


@given(scenarios(most_queries=3))
@settings(QUICK, max_examples=4)
def test_optimised_is_plain(made: Scenario) -> None:
    known = truth(made)
    for query in map(optimize, bound(made.text).queries):
        assert isinstance(query.plan, Related)
        assert isinstance(query.plan.relation, Emitted)
        relation = made.relations[query.name]
        assert not relation_difference(relation, known.told(relation), known.told(query.plan.relation))


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=4)
def test_a_failure_can_be_kept_as_a_case(made: Scenario) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "found.test"
        path.write_text(as_case(made))
        (case,) = read_cases(path)
    check(case, DuckOracle())


@pytest.mark.spark
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_spark_in_batch_says_the_same(seed: int, spark) -> None:
    made = scenario(Random(seed), 2, 24, f"found by seed {seed}")
    known = truth(made)
    streams = made.streams.streams
    for stream in streams:
        rows = known.connection.sql(f'FROM "{stream.name}"').to_arrow_table()
        frame = spark.createDataFrame(rows).selectExpr("k", "v", "w", "CAST(at AS TIMESTAMP) AS at")
        frame.createOrReplaceTempView(stream.name)
    for name, relation in made.relations.items():
        told = rows_of(spark.sql(relation_sql(relation, streams, dialect="spark")).toArrow())
        wrong = relation_difference(relation, known.told(relation), told)
        assert not wrong, as_case(made.only(name)) + wrong
