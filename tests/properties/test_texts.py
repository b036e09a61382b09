"""Queries over several sources as text: they mean the relation they were made with, normalised or not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.properties.relations import Scenario, as_case, scenarios, truth
from tests.properties.test_programs import QUICK
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.optimize.relations import normalise
from weft.plan.bind import bind_program
from weft.plan.nodes import Related
from weft.plan.relations import AsOf, Relation
from weft.plan.relationtree import rewrite_up, walk
from weft.testing.compare import difference


def read(made: Scenario) -> dict[str, Relation]:
    """What the text of the queries means; those whose text does not say that they slide are left out."""
    found = {}
    for query in bind_program(parse_program(made.text)).queries:
        assert isinstance(query.plan, Related)
        if _slides(query.plan.relation) == _slides(made.relations[query.name]):
            found[query.name] = query.plan.relation
    return found


def _slides(relation: Relation) -> bool:
    return any(isinstance(node, AsOf) for node in walk(relation))


def _with_one_range(relation: Relation) -> Relation:
    """Windows begin where the longest of the query does; the scenarios' own go by each SELECT."""
    return rewrite_up(relation, lambda node: replace(node, range=0) if isinstance(node, AsOf) else node)


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=15)
def test_a_text_means_the_relation_it_was_made_with(made: Scenario) -> None:
    known = truth(made)
    for name, relation in read(made).items():
        meant = known.bags(_with_one_range(made.relations[name]))
        for at, bag in known.bags(_with_one_range(relation), list(meant)).items():
            assert not difference(meant[at], bag), (at, as_case(made.only(name)))


@given(scenarios())
@settings(QUICK, max_examples=20)
def test_a_printed_query_reads_as_itself(made: Scenario) -> None:
    statements = parse_program(made.text)
    assert parse_program(";\n".join(map(print_statement, statements))) == statements


@given(scenarios(most_queries=2))
@settings(QUICK, max_examples=15)
def test_normalised_it_has_the_same_rows_at_every_instant(made: Scenario) -> None:
    known = truth(made)
    for name, relation in read(made).items():
        plain = known.bags(relation)
        for at, bag in known.bags(normalise(relation), list(plain)).items():
            assert not difference(plain[at], bag), (at, as_case(made.only(name)))
