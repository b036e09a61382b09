"""What holds of every program, told without Spark."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, settings

from tests.properties.programs import Scenario, as_case, run, scenarios
from tests.sql.oracles import DuckOracle
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.optimize.pipeline import optimize
from weft.testing.cases import read_cases
from weft.testing.compare import bounds, difference
from weft.testing.harness import bound, check
from weft.testing.values import rows_of

# Programs come from a random number generator: shrinking them takes minutes and hardly helps.
QUICK = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[
        HealthCheck.data_too_large,
        HealthCheck.too_slow,
    ],  # a whole program is a large example
)


@given(scenarios(most_rows=0))
@settings(QUICK, max_examples=60)
def test_what_is_printed_reads_the_same(made: Scenario) -> None:
    for statement in parse_program(made.text):
        assert parse_program(print_statement(statement)) == (statement,)


class Optimized(DuckOracle):
    """The reference on optimised plans."""

    def start(self, program: str) -> None:
        super().start(program)
        queries = tuple(optimize(query) for query in self.program.queries)
        self.program = type(self.program)(self.program.streams, queries)


@given(scenarios(most_queries=4, most_rows=40))
@settings(QUICK, max_examples=25)
def test_optimised_is_plain(made: Scenario) -> None:
    plain, optimised = run(made, DuckOracle()), run(made, Optimized())
    for query in bound(made.text).queries:
        rows, others = rows_of(plain[query.name]), rows_of(optimised[query.name])
        assert not difference(rows, others, bounds(query)), query.statement


@given(scenarios(most_queries=3, most_rows=30))
@settings(QUICK, max_examples=10)
def test_a_failure_can_be_kept_as_a_case(made: Scenario) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "found.test"
        path.write_text(as_case(made))
        (case,) = read_cases(path)
    check(case, DuckOracle())
