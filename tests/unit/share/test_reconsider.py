"""Other treatments for queries that run: offered where what was counted says that the switch pays."""

from __future__ import annotations

import pytest

from tests.unit.engine.bench import STREAM, bound
from weft.plan.nodes import Program
from weft.share.build import Planner
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.model.offer import Limits, Offer
from weft.share.reconsider import best_offer

QUERY = "CREATE QUERY r{} AS SELECT COUNT(*) AS n, SUM(qty) AS q FROM trades [RANGE {} SECONDS{}] WHERE {};\n"


def rules(count: int, seconds: int = 60, condition: str = "sym = 's{}'", slide: str = "") -> Program:
    each = [QUERY.format(at, seconds, slide, condition.format(at)) for at in range(count)]
    return bound(STREAM + "".join(each))


def hidden(program: Program, *keys: str) -> dict[str, tuple[str, ...]]:
    return {query.name: keys for query in program.queries}


def load(values: float = 0, rows: float = 50_000.0, passing: dict[str, float] | None = None) -> Basis:
    """What the stream brings: so many values of `sym`, if it is a key."""
    distinct = {"sym": values} if values else {}
    counted = {("sym",): values} if values else {}
    made = Load(
        rows,
        distinct=distinct,
        counted=counted,
        passing=passing or {},
        rows_by="measured",
        groups_by="measured",
    )
    return Basis(Loads({"trades": made}))


def offered(program: Program, keys: tuple[str, ...], basis: Basis) -> Offer | None:
    picked, planner = hidden(program, *keys), Planner()
    (plan,) = planner.plan(program, picked).streams
    return best_offer(planner.taken("trades"), plan, picked, basis, Limits())


def test_a_key_of_which_there_are_too_many_values_is_given_up() -> None:
    program = rules(10)
    offer = offered(program, ("sym",), load(40_000))
    assert offer is not None
    assert offer.picks_by == hidden(program)
    assert offer.what == "key sym to rows asked"
    assert offer.then < offer.now < offer.both
    assert offer.seconds == 64
    assert offered(program, ("sym",), load(10)) is None


@pytest.mark.parametrize(("rows", "notes"), [(100_000.0, 100.0), (500_000.0, 5000.0)])
def test_whichever_is_in_force_the_same_is_wanted(rows: float, notes: float) -> None:
    """By `note` alone there are fewer groups than by both, also where nothing is grouped by `note` alone."""
    query = (
        "CREATE QUERY r{0} AS SELECT note, SUM(qty) AS q, COUNT(*) AS n, MAX(price) AS m "
        "FROM trades [RANGE 60 SECONDS SLIDE 1 SECOND] WHERE sym = 's{0}' GROUP BY note;\n"
    )
    program = bound(STREAM + "".join(map(query.format, range(40))))
    distinct = {"note": notes, "sym": 100.0}

    def now(counted: dict[tuple[str, ...], float]) -> Basis:
        known = {f"sym = 's{at}'": 0.01 for at in range(40)}
        load = Load(rows, counted=counted, distinct=distinct, passing=known, rows_by="measured")
        return Basis(Loads({"trades": load}))

    offer = offered(program, (), now({("note",): notes}))
    assert offer is not None
    assert offer.what == "rows asked to key sym"
    assert offer.both < 2 * offer.now  # what rows are asked for is not combined from a cell for each row
    assert offered(program, ("sym",), now({("note", "sym"): notes * 100})) is None


def test_predicates_tell_how_many_values_a_column_has() -> None:
    """Ten values in all rows: ten in all; in a thousandth of them: ten thousand."""
    program = rules(10, slide=" SLIDE 10 SECONDS")
    all_rows = {f"sym = 's{at}'": 0.1 for at in range(10)}
    offer = offered(program, (), load(passing=all_rows))
    assert offer is not None
    assert set(offer.picks_by.values()) == {("sym",)}
    assert offer.what == "rows asked to key sym"
    rare = offered(program, (), load(passing=dict.fromkeys(all_rows, 1e-4)))
    assert rare is not None
    assert rare.what == "rows asked to signature"  # ten conditions that hardly a row has


def test_what_nobody_has_counted_is_no_reason() -> None:
    program = rules(10)
    assert offered(program, (), load()) is None  # where nothing runs, ten conditions make a key
    assert (
        offered(program, (), load(passing=dict.fromkeys([f"sym = 's{at}'" for at in range(10)], 0.0))) is None
    )
    both = rules(10, condition="sym = 's{}' AND price > 1")
    assert offered(both, (), load(passing={f"sym = 's{at}' AND price > 1": 0.1 for at in range(10)})) is None


def test_what_was_counted_of_a_column_that_is_asked_for_is_a_reason() -> None:
    """Whatever else its predicates ask for, and however few rows have the values asked for."""
    program = rules(10, slide=" SLIDE 10 SECONDS", condition="sym = 's{}' AND price > 1")
    offer = offered(program, (), load(10))
    assert offer is not None
    assert offer.what == "rows asked to key sym"


def test_what_was_counted_goes_before_what_predicates_tell() -> None:
    """Ten values that half of the rows have, and thousands in the other half: no twenty groups."""
    program = rules(10, slide=" SLIDE 10 SECONDS")
    half = {f"sym = 's{at}'": 0.05 for at in range(10)}
    few, many = (offered(program, (), load(values, passing=half)) for values in (20, 40_000))
    assert few is not None
    assert few.what == "rows asked to key sym"
    assert many is None or many.what != few.what


def test_what_was_counted_of_a_column_that_one_asks_for_is_old() -> None:
    assert offered(rules(1), (), load(10)) is None


def test_few_rows_do_not_pay_for_the_switch() -> None:
    assert offered(rules(10), ("sym",), load(400, rows=100)) is None


def test_other_cuts_of_the_same_column_are_no_reason() -> None:
    program = rules(12, condition="price > {}")
    wider = "WEFT_INTERVAL(" + ", ".join(f"price > {at}" for at in range(20)) + ")"
    assert offered(program, (), load()) is not None
    assert offered(program, (wider,), load()) is None


@pytest.mark.parametrize(
    ("gain", "both", "seconds", "pays"),
    [
        (0.5, 1.2, 60, True),
        (0.05, 1.2, 60, False),  # a small part of it
        (0.5, 3.0, 3600, False),  # takes two CPU-hours to save half a CPU-second a second
        (0.5, 1.2, 7200, True),  # paid for within the longest window
    ],
)
def test_when_a_switch_pays(gain: float, both: float, seconds: float, pays: bool) -> None:
    offer = Offer({"q": ()}, "key a to rows asked", 1.0, 1.0 - gain, both, 0.0, seconds)
    assert offer.pays(Limits()) == pays


def test_the_offer_in_words() -> None:
    offer = Offer({"a": (), "b": ()}, "key sym to rows asked", 0.6, 0.2, 0.7, 0.1, 100)
    assert offer.show(Limits()) == (
        "2 queries from key sym to rows asked: 100 ms instead of 500 ms CPU time for each second of stream, "
        "what is fixed aside, paid for within 50 s"
    )
