"""A feed's state against the obvious loop: whatever is folded, in whatever order, every window is right."""

from __future__ import annotations

import itertools
import mmap
import pickle
from collections import defaultdict
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.kernels.model import (
    CASES,
    GRAIN,
    PRESENT,
    PRESENT_ODD,
    Case,
    Row,
    agree,
    evaluate,
    lowered,
    parts,
)
from weft.errors import Bug
from weft.kernels import families
from weft.kernels.choosing import holds
from weft.kernels.columns import ColumnSpec
from weft.kernels.dense import Dense
from weft.kernels.picks import Choice, HasAll, OneOf, Pick, Within
from weft.kernels.sparse import Sparse
from weft.kernels.state import Answered, FeedState

KEY_TYPES = (pa.string(), pa.float64())


class Flipping(FeedState):
    """Changes its store at every chance."""

    def _choose_store(self, times: int, groups: int, cells: int) -> None:
        self._move_to(Sparse() if isinstance(self._store, Dense) else Dense())


class AllSparse(FeedState):
    def _choose_store(self, times: int, groups: int, cells: int) -> None:
        if isinstance(self._store, Dense):
            self._move_to(Sparse())


STATES = {"dense": FeedState, "sparse": AllSparse, "flipping": Flipping}

EXTREMES = [2**63 - 1, -(2**63), 2**63 - 2, 0, -1, 1 << 32]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e100, -1e-300, float("inf"), float("-inf"), float("nan")]
TEXTS = ["", "a", "b", "aa", "Z", "é", "\U0001f600", "\uffff", "a\x00"]


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


rows = st.builds(
    Row,
    ts=st.integers(-5 * GRAIN, 12 * GRAIN),
    key=st.tuples(st.sampled_from(["x", "y", "", None]), st.sampled_from([1.0, float("nan"), 0.0, None])),
    i=maybe(st.integers(-(2**31), 2**31 - 1)),
    big=maybe(st.integers(-(2**40), 2**40) | st.sampled_from(EXTREMES)),
    f=maybe(st.floats(-1e6, 1e6) | st.sampled_from(FLOATS)),
    s=maybe(st.sampled_from(TEXTS) | st.text(max_size=3)),
    d=maybe(st.decimals(-(10**17), 10**17, places=2)),
    e=maybe(st.sampled_from([Decimal("1.25"), Decimal("-99999999.99"), Decimal("0.00")])),
    w=maybe(
        st.integers(1 - 10**38, 10**38 - 1) | st.sampled_from([10**38 - 1, 1 - 10**38, -(2**64), 2**64 - 1])
    ),
    day=maybe(st.dates(date(1960, 1, 1), date(2030, 1, 1))),
    flag=maybe(st.booleans()),
)
batches = st.lists(rows, min_size=1, max_size=12)
actions = st.one_of(
    st.tuples(st.just("fold"), batches, st.integers(0, len(CASES))),
    st.tuples(st.just("fold"), batches, st.just(len(CASES))),
    st.tuples(st.just("expire"), st.integers(-5, 12), st.none()),
    st.tuples(st.just("snapshot"), st.none(), st.none()),
    st.tuples(st.just("pickle"), st.none(), st.none()),
    st.tuples(st.just("drop"), st.integers(1, len(CASES)), st.none()),
    st.tuples(st.just("answer"), st.none(), st.none()),
)


def dumped(state: FeedState) -> tuple[bytes, list[bytearray]]:
    """What goes in the pickle, and what goes beside it."""
    beside: list[pickle.PickleBuffer] = []
    inside = pickle.dumps(state, protocol=5, buffer_callback=beside.append)
    return inside, [bytearray(part.raw()) for part in beside]


def reloaded(inside: bytes, beside: list[bytearray]) -> FeedState:
    state: FeedState = pickle.loads(inside, buffers=beside)
    return state


class Model:
    """A state under test beside the rows it should hold."""

    key_types: tuple[pa.DataType, ...] = KEY_TYPES

    def __init__(self, state: FeedState) -> None:
        self.state = state
        self.rows: dict[Case, list[Row]] = defaultdict(list)

    def fold(self, batch: list[Row], count: int) -> None:
        """With the first `count` columns, always those that tell presence. Cells may come twice."""
        cells: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        for number, row in enumerate(batch):
            cells[(row.slice, repr(row.key), number % 2)].append(row)
        heads = [cell[0] for cell in cells.values()]
        keys = [pa.array([row.key[at] for row in heads], type) for at, type in enumerate(self.key_types)]
        used = CASES[: max(2, count)]
        columns = {case.spec: parts(case, list(cells.values())) for case in used}
        self.state.fold(np.array([row.slice for row in heads]), keys, columns)
        for case in used:
            self.rows[case] += batch

    def expire(self, before: int) -> None:
        self.state.expire(before)
        for case in self.rows:
            self.rows[case] = [row for row in self.rows[case] if row.slice >= before]

    def drop(self, count: int) -> None:
        kept = CASES[: max(2, count)]
        self.state.drop_columns([case.spec for case in kept])
        self.rows = defaultdict(list, {case: rows for case, rows in self.rows.items() if case in kept})

    def check(
        self, present: Case, starts: np.ndarray, ends: np.ndarray, choice: Choice | None = None
    ) -> None:
        answered = self.state.answer(starts, ends, present.spec, [case.spec for case in CASES], choice)
        seen = range(self.state.groups.key_count) if choice is None else choice.seen
        columns = [key.to_pylist() for key in self.state.keys(answered.group)]
        keys = list(zip(*(columns[place] for place in seen))) or [()] * len(answered.window)
        got = {
            (int(window), repr(key)): [lowered(case, answered.values[case.spec])[at] for case in CASES]
            for at, (window, key) in enumerate(zip(answered.window, keys))
        }
        if choice is None:
            assert list(zip(answered.window, answered.group)) == sorted(zip(answered.window, answered.group))
        assert len(got) == len(answered.window)
        expected_groups = set()
        for number, (start, end) in enumerate(zip(starts, ends)):
            groups: dict[str, dict[Case, list[Row]]] = defaultdict(lambda: defaultdict(list))
            for case in CASES:
                for row in self.rows[case]:
                    if start <= row.slice < end and (choice is None or picked(row, choice)):
                        groups[repr(tuple(row.key[place] for place in seen))][case].append(row)
            for key, held in groups.items():
                if evaluate(present, held[present]) == 0:
                    continue
                expected_groups.add((number, key))
                for case, value in zip(CASES, got[(number, key)]):
                    expected = evaluate(case, held[case])
                    assert agree(case, value, expected, held[case]), (case.spec, value, expected)
        assert set(got) == expected_groups


def picked(row: Row, choice: Choice) -> bool:
    return all(_is_picked(row.key[pick.place], pick) for pick in choice.picks)


def _is_picked(key: object, pick: Pick) -> bool:
    match pick:
        case OneOf(values=values):
            return key in values
        case Within(first=first, last=last):
            return isinstance(key, int) and first <= key <= last
        case HasAll(mask=mask):
            return isinstance(key, int) and key & mask == mask


def windows(width: int, slide: int) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(-6, 18, slide) * GRAIN
    return ends - width * GRAIN, ends


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=50, deadline=None, report_multiple_bugs=False)
@given(script=st.lists(actions, min_size=1, max_size=7))
def test_every_window_equals_the_obvious_loop(kind: str, script: list[tuple[str, object, object]]) -> None:
    model = Model(STATES[kind](2))
    for action, what, count in script:
        if action == "fold":
            model.fold(what, count)
        elif action == "expire":
            model.expire(what * GRAIN)
        elif action == "snapshot":
            table = model.state.table()
            model.state = STATES[kind].from_table(table)
            assert model.state.cells == table.num_rows
        elif action == "pickle":
            model.state = reloaded(*dumped(model.state))
        elif action == "drop":
            model.drop(what)
        else:
            model.check(PRESENT, *windows(3, 1))
    model.check(PRESENT, *windows(1, 1))
    model.check(PRESENT_ODD, *windows(5, 2))
    model.check(PRESENT, np.array([-6 * GRAIN]), np.array([13 * GRAIN]))
    held = {(row.slice, repr(row.key)) for row in model.rows[PRESENT]}
    assert model.state.cells == len(held)
    assert set(model.state.slices()) == {slice for slice, _ in held} or not held


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=30, deadline=None, report_multiple_bugs=False)
@given(folded=st.lists(st.tuples(batches, st.integers(0, len(CASES))), min_size=1, max_size=4))
def test_a_coarser_state_is_made_of_the_cells_of_a_finer_one(
    kind: str, folded: list[tuple[list[Row], int]]
) -> None:
    finer, coarser = Model(STATES[kind](2)), Model(STATES[kind](1))
    for batch, count in folded:
        finer.fold(batch, count)
    coarser.state.fold(*finer.state.taken([1], [case.spec for case in CASES]))
    for case, held in finer.rows.items():
        coarser.rows[case] = [replace(row, key=row.key[1:]) for row in held]
    coarser.check(PRESENT, *windows(3, 1))
    finer.check(PRESENT, *windows(3, 1))


TEXT_PICKS = st.lists(st.sampled_from(["x", "y", "", "z"]), min_size=1, max_size=3).map(tuple)


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=50, deadline=None, report_multiple_bugs=False)
@given(
    folded=st.lists(st.tuples(batches, st.integers(0, len(CASES))), min_size=1, max_size=4),
    values=TEXT_PICKS,
    seen=st.sampled_from([(), (0,), (1,), (0, 1), (1, 0)]),
)
def test_chosen_groups_answer_as_if_only_their_rows_had_come(
    kind: str, folded: list[tuple[list[Row], int]], values: tuple[str, ...], seen: tuple[int, ...]
) -> None:
    model = Model(STATES[kind](2))
    for batch, count in folded:
        model.fold(batch, count)
        model.check(PRESENT, *windows(3, 1), Choice((OneOf(0, values),), seen))
    model.check(PRESENT, *windows(5, 2), Choice((OneOf(0, values[:1]),), seen))
    model.check(PRESENT, *windows(5, 2), Choice((), seen))
    model.expire(2 * GRAIN)
    model.check(PRESENT, *windows(5, 2), Choice((OneOf(0, values),), seen))


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=20, deadline=None, report_multiple_bugs=False)
@given(
    folded=st.lists(batches, min_size=1, max_size=3),
    picks=st.lists(TEXT_PICKS, min_size=2, max_size=5),
    seen=st.sampled_from([(), (0,), (1,), (0, 1)]),
    most=st.sampled_from([1, 10, 1 << 19]),
)
def test_choices_answered_together_are_those_answered_one_by_one(
    kind: str, folded: list[list[Row]], picks: list[tuple[str, ...]], seen: tuple[int, ...], most: int
) -> None:
    model = Model(STATES[kind](2))
    for batch in folded:
        model.fold(batch, len(CASES))
    choices = [Choice((OneOf(0, values),), seen) for values in picks]
    starts, ends = windows(4, 1)
    specs = [case.spec for case in CASES]
    alone = [model.state.answer(starts, ends, PRESENT.spec, specs, choice) for choice in choices]
    found: dict[int, Answered] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "_AT_ONCE", most)
        for place, made, bounds in model.state.answer_each(starts, ends, PRESENT.spec, specs, choices):
            found |= {place + at: cut(made, bounds[at], bounds[at + 1]) for at in range(len(bounds) - 1)}
    for at, expected in enumerate(alone):
        mine = found.get(at)
        assert (mine is None) == (len(found) == 0)
        if mine is not None:
            assert mine.window.tolist() == expected.window.tolist()
            assert mine.group.tolist() == expected.group.tolist()
            for case in CASES:
                one, other = mine.values[case.spec], expected.values[case.spec]
                assert repr(lowered(case, one)) == repr(lowered(case, other))


def cut(answered: Answered, start: int, stop: int) -> Answered:
    values = {
        spec: tuple(value[start:stop] for value in columns) for spec, columns in answered.values.items()
    }
    return Answered(answered.window[start:stop], answered.group[start:stop], values)


def test_a_null_is_never_picked() -> None:
    keys = [pa.array([5, None, 1, 7, 5], pa.int64())]
    assert holds([OneOf(0, (1, 7))], keys).tolist() == [False, False, True, True, False]
    assert holds([OneOf(0, (1, 7)), OneOf(0, (1,))], keys).tolist() == [False, False, True, False, False]
    assert holds([Within(0, 2, 6)], keys).tolist() == [True, False, False, False, True]


def test_an_extreme_met_after_an_expiry_ranks_only_what_is_left() -> None:
    spec, count = ColumnSpec("max(big)", "max", "bigint"), ColumnSpec("count(*)", "count")
    state = FeedState(0)
    for slice, big in [(0, 7), (10, 8), (20, 2**63 - 1), (30, -(2**63))]:
        state.expire(slice - 10)
        state.fold(np.array([slice]), [], {spec: {"": pa.array([big])}, count: {"": pa.array([1])}})
    found = state.answer(np.array([10, 20, 30]), np.array([20, 30, 40]), count, [spec])
    assert found.window.tolist() == [1, 2]
    assert found.values[spec][0].to_pylist() == [2**63 - 1, -(2**63)]


@pytest.mark.parametrize("kind", STATES)
def test_however_much_it_holds_little_is_pickled_beside_its_arrays(kind: str) -> None:
    sizes = []
    for groups in (10, 10_000):
        state = filled(kind, groups)
        inside, beside = dumped(state)
        sizes.append(len(inside))
        again = reloaded(inside, beside)
        assert again.table().equals(state.table())
        assert sum(map(len, beside)) < 3 * state.nbytes
    assert max(sizes) < 8192
    assert max(sizes) - min(sizes) < 256


@pytest.mark.parametrize("kind", STATES)
def test_a_state_lives_in_the_memory_it_was_loaded_from(kind: str, tmp_path: Path) -> None:
    """A file that is mapped into memory: what is folded into cells that are there changes the file."""
    inside, beside = dumped(filled(kind, 1000))
    ends = np.cumsum([0, *map(len, beside)])
    (tmp_path / "state").write_bytes(b"".join(beside))
    with (tmp_path / "state").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        view = memoryview(mapped)
        state = reloaded(inside, [view[a:b] for a, b in itertools.pairwise(ends)])  # type: ignore[misc]
        state.fold(np.full(1, 30), [pa.array(["k17"])], {COUNT: {"": pa.array([5])}})
        found = state.answer(np.array([30]), np.array([31]), COUNT, [COUNT])
        assert found.values[COUNT][0][17] == 6
        del state, found
        changed = bytes(view)
        view.release()
    if kind == "dense":
        assert changed != b"".join(beside)


COUNT, NAMES = ColumnSpec("count(*)", "count"), ColumnSpec("max(s)", "max", "string")


def filled(kind: str, groups: int) -> FeedState:
    """Two slices, with a text of its own in every cell."""
    state = STATES[kind](1)
    for slice in (20, 30):
        names = pa.array([f"k{at}" for at in range(groups)])
        columns = {COUNT: {"": pa.array(np.ones(groups, np.int64))}, NAMES: {"": names}}
        state.fold(np.full(groups, slice), [names], columns)
    return state


@pytest.mark.parametrize("kind", STATES)
def test_windows_in_descending_order_are_refused(kind: str) -> None:
    state = STATES[kind](0)
    count = ColumnSpec("count(*)", "count")
    state.fold(np.array([0]), [], {count: {"": pa.array([1])}})
    with pytest.raises(Bug, match="ascending"):
        state.answer(np.array([10, 0]), np.array([20, 10]), count, [])


def test_many_groups_in_few_slices_are_kept_sparse_and_come_back_dense() -> None:
    count = ColumnSpec("count(*)", "count")
    state = FeedState(1)
    for slice in range(40):
        keys = np.arange(slice * 5_000, (slice + 1) * 5_000)
        state.fold(np.full(5_000, slice), [pa.array(keys)], {count: {"": pa.array(keys % 3 + 1)}})
    assert isinstance(state._store, Sparse)
    assert state.nbytes < 40 * 5_000 * 150  # a matrix would take 40 times as much
    found = state.answer(np.array([0, 10]), np.array([10, 40]), count, [count])
    assert np.bincount(found.window).tolist() == [50_000, 150_000]
    assert found.values[count][0].tolist() == [key % 3 + 1 for key in range(200_000)]
    state.expire(39)
    assert isinstance(state._store, Dense)
    assert len(state.groups) == state.cells == 5_000
    found = state.answer(np.array([0]), np.array([40]), count, [count])
    assert state.keys(found.group)[0].to_pylist() == list(range(195_000, 200_000))


def test_state_stays_level_while_slices_and_groups_come_and_go() -> None:
    count, least = ColumnSpec("count(*)", "count"), ColumnSpec("min(s)", "min", "string")
    state, sizes = FeedState(1), []
    for slice in range(800):
        keys = pa.array([f"g{slice // 10}", f"h{slice // 10}"])
        columns = {count: {"": pa.array([1, 1])}, least: {"": pa.array([f"v{slice}", None])}}
        state.fold(np.full(2, slice), [keys], columns)
        state.expire(slice - 50)
        answered = state.answer(np.array([slice - 19]), np.array([slice + 1]), count, [least])
        recent = [f"v{at}" for at in range(slice // 10 * 10, slice + 1)]
        assert min(recent) in answered.values[least][0].to_pylist()
        sizes.append(state.nbytes)
    assert max(sizes[400:]) <= 2 * max(sizes[:400])
    assert len(state.groups) <= 128


def test_few_slices_of_very_many_groups_leave_no_wide_rows_behind() -> None:
    count, keys, sizes = ColumnSpec("count(*)", "count"), pa.array(np.arange(20_000)), []
    state = FeedState(1)
    for slice in range(30):
        state.fold(np.full(20_000, slice), [keys], {count: {"": pa.array(np.ones(20_000, np.int64))}})
        state.expire(slice - 1)
        found = state.answer(np.array([slice - 1]), np.array([slice + 1]), count, [count])
        assert set(found.values[count][0].tolist()) == {min(slice, 1) + 1}
        sizes.append(state.nbytes)
    assert isinstance(state._store, Dense)
    assert max(sizes) <= 3 * sizes[1]


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_run_with_late_cells_and_expiry(kind: str, seed: int) -> None:
    """Hundreds of slices and a growing set of groups: windows of every length against the whole matrix."""
    rng = np.random.default_rng(seed)
    count, total = ColumnSpec("count(*)", "count"), ColumnSpec("sum(x)", "sum_float", "double")
    least, most = ColumnSpec("min(i)", "min", "int"), ColumnSpec("max(i)", "max", "int")
    state, slices, groups = STATES[kind](1), 400, 30
    counts, sums = np.zeros((slices, groups), np.int64), np.zeros((slices, groups))
    lows, highs = np.full((slices, groups), 10**6), np.full((slices, groups), -(10**6))
    expired = 0
    for now in range(0, slices, 3):
        new = rng.random((3, groups)) < 0.4 * (np.arange(groups) < 5 + now // 10)
        rows, at = np.nonzero(new[: slices - now])
        rows += now
        if now > 20:  # some cells arrive late, into old slices and into ones that are not there yet
            rows[:2] = rng.integers(max(expired, now - 20), now, len(rows[:2]))
        x, i = rng.normal(size=len(rows)), rng.integers(-1000, 1000, len(rows))
        np.add.at(counts, (rows, at), 1)
        np.add.at(sums, (rows, at), x)
        np.minimum.at(lows, (rows, at), i)
        np.maximum.at(highs, (rows, at), i)
        ones = pa.array(np.ones(len(rows), np.int64))
        values = pa.array(i.astype(np.int32))
        columns = {count: {"": ones}, total: {"": pa.array(x)}, least: {"": values}, most: {"": values}}
        state.fold(rows * GRAIN, [pa.array(at)], columns)
        if now % 4 == 0:
            expired = max(0, now - 120)
            state.expire(expired * GRAIN)
        starts = np.sort(rng.integers(expired, now + 3, 40 if now % 5 == 0 else 2))
        ends = np.maximum.accumulate(starts + rng.integers(1, 100))
        found = state.answer(starts * GRAIN, ends * GRAIN, count, [count, total, least, most])
        keys = state.keys(found.group)[0].to_numpy()
        here = [
            (w, g) for w, (a, b) in enumerate(zip(starts, ends)) for g in np.flatnonzero(counts[a:b].sum(0))
        ]
        assert sorted(zip(found.window.tolist(), keys.tolist())) == here
        for row, (window, group) in enumerate(zip(found.window, keys)):
            cut = slice(starts[window], ends[window])
            assert found.values[count][0][row] == counts[cut, group].sum()
            assert found.values[total][0][row] == pytest.approx(sums[cut, group].sum(), abs=1e-9)
            assert found.values[least][0][row].as_py() == lows[cut, group].min()
            assert found.values[most][0][row].as_py() == highs[cut, group].max()
