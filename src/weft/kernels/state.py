"""The live cells of one feed: partials by slice and group, and the windows answered from them.

    fold      cells of a batch, in any order, also into old slices
    answer    windows -> groups present and their combined partials
    expire    whole slices that no window will need again; groups go with their last cell

A cache: the same cells folded in any order and any number of pieces give the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from weft.errors import Bug
from weft.kernels.arrow import TIME, array_of, whole
from weft.kernels.cells import NOWHERE, Selection, Store, nothing
from weft.kernels.choosing import Chooser
from weft.kernels.columns import Codes, ColumnSpec, Parts, Values, is_coded, layout, lift
from weft.kernels.combine import KINDS, SUM, Arrays, Ints, Kind, combine_runs, distinct
from weft.kernels.dense import Dense
from weft.kernels.groups import GroupIndex
from weft.kernels.kept import Kept
from weft.kernels.orders import Recode
from weft.kernels.picks import Choice
from weft.kernels.slots import RAW, ReadPlan, Slot, dump, plan_read, restore
from weft.kernels.sparse import Sparse
from weft.kernels.timerows import TimeRows

_SMALL = 1 << 16  # matrices up to so many places are dense however empty
_LARGE = 1 << 22  # matrices beyond so many places must be well filled
_META = b"weft.state"
_KEPT = "kept"
_REMEMBERED = 1 << 27  # bytes of selections, and of what was read for those who choose, kept within a step


FoldArgs = tuple[Ints, list[pa.Array], dict[ColumnSpec, dict[str, pa.Array]]]  # slices, keys, columns


@dataclass(frozen=True, slots=True)
class Answered:
    """One row per window and present group, ordered by both; `window` indexes the windows asked for.

    Columns made of the rows are kept for the others who ask: in `made` for those of the same windows, in
    `alike` also for those of windows that begin elsewhere, but have the same ends and the same groups.
    """

    window: Ints
    group: Ints
    values: Mapping[ColumnSpec, Values]
    full: int = 0  # so many groups, and each of them is in every window; 0: it is not so, or not known
    made: dict[str, Any] = field(default_factory=dict)
    alike: dict[str, Any] = field(default_factory=dict)

    def count_windows(self) -> int:
        """How many windows hold a group."""
        window = self.window
        if self.full:
            return len(window) // self.full
        return int(np.count_nonzero(window[1:] != window[:-1])) + 1 if len(window) else 0


class FeedState:
    def __init__(self, key_count: int) -> None:
        self.groups = GroupIndex(key_count)
        self._store: Store = Dense()
        self._slots: dict[ColumnSpec, Slot] = {}
        self._widths: dict[Kind, int] = {SUM: 1}
        self._selections: dict[tuple[bytes, bytes, int], Selection] = {}
        self._alike: dict[bytes, dict[str, Any]] = {}  # by ends of windows that hold all groups
        self._time_rows = TimeRows()
        self._remembered = 0
        self._read_plans: dict[tuple[ColumnSpec, ...], ReadPlan] = {}
        self._chooser = Chooser()

    def __getstate__(self) -> dict[str, Any]:
        """Flat arrays, and little beside them however many cells there are; not what is only remembered.

        So `pickle.dumps(state, 5, buffer_callback=...)` hands over all that is large as it is, and a state
        that is loaded from buffers that can be written lives in them.
        """
        remembered = {"_selections": {}, "_alike": {}, "_time_rows": TimeRows(), "_remembered": 0}
        return self.__dict__ | remembered | {"_read_plans": {}, "_chooser": Chooser()}

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        return tuple(self._slots)

    @property
    def cells(self) -> int:
        return self._store.count

    @property
    def nbytes(self) -> int:
        return self._store.nbytes + self.groups.nbytes

    def slices(self) -> Ints:
        """Distinct slice starts, ascending."""
        return self._store.starts()

    def keys(self, groups: Ints) -> list[pa.Array]:
        return self.groups.take(groups)

    def times(self, answered: Answered, times: Ints) -> pa.Array:
        """For each row of an answer the time of its window."""
        if answered.full:
            return self._time_rows.rows(times, answered.full)
        return array_of(times.take(answered.window), type=TIME)

    def lookup(self, keys: Sequence[pa.Array], rows: int | None = None) -> Ints:
        """The ids of groups by their keys, -1 where there is none. `rows`: how many, without keys."""
        return self.groups.lookup([whole(key) for key in keys], rows)

    def fold(self, slices: Ints, keys: Sequence[pa.Array], columns: Mapping[ColumnSpec, Parts]) -> None:
        """Combine cells into the state: part arrays by name for each column, all as long as `slices`."""
        slices = np.asarray(slices, np.int64)
        if not len(slices):
            return
        self._forget()
        groups = self.groups.add([whole(key) for key in keys], len(slices))
        self._make_room(columns, slices)
        self._store.fold(*_distinct(slices, groups, self._writes(columns)))

    def _make_room(self, columns: Iterable[ColumnSpec], slices: Ints) -> None:
        for spec in columns:
            if spec not in self._slots:
                self._add_slot(spec)
        times = len(np.union1d(self._store.starts(), distinct(slices)))
        self._choose_store(times, len(self.groups), self._store.count + len(slices))
        self._store.widen(self._widths, len(self.groups))

    def _add_slot(self, spec: ColumnSpec) -> None:
        self._read_plans.clear()
        how = layout(spec)
        first = self._widths.get(how.kind, 0)
        self._widths[how.kind] = first + how.width
        codes = Codes(spec) if is_coded(spec) else None
        self._slots[spec] = Slot(how, np.arange(first, first + how.width), codes)

    def _writes(self, columns: Mapping[ColumnSpec, Parts]) -> dict[Kind, tuple[Ints, Arrays]]:
        """All components to write, stacked by kind."""
        comps: dict[Kind, list[Ints]] = {}
        stacked: dict[Kind, list[Arrays]] = {}
        for spec, parts in columns.items():
            slot = self._slots[spec]
            flat = {name: whole(array) for name, array in parts.items()}
            comps.setdefault(slot.layout.kind, []).append(slot.comps)
            stacked.setdefault(slot.layout.kind, []).extend(self._lift(spec, slot, flat))
        return {
            kind: (np.concatenate(comps[kind]), tuple(np.stack(arrays) for arrays in zip(*stacked[kind])))
            for kind in comps
        }

    def _lift(self, spec: ColumnSpec, slot: Slot, parts: Parts) -> tuple[Arrays, ...]:
        if slot.codes is None:
            return restore(slot, parts) if RAW in parts else lift(spec, parts)
        kind, comp = slot.layout.kind, int(slot.comps[0])

        def change(array: int, recode: Recode) -> None:
            self._store.recode(kind, comp, array, recode)

        return (slot.codes.encode(parts, change, lambda array: self._store.live(kind, comp, array)),)

    def answer(
        self,
        starts: Ints,
        ends: Ints,
        present: ColumnSpec,
        wanted: Sequence[ColumnSpec],
        choice: Choice | None = None,
    ) -> Answered:
        """The windows [start, end), both ascending: groups whose `present` is positive, and their partials.

        A window holds the cells with start <= slice < end. A column that no cell has is absent everywhere.
        With a `choice` the groups are those it takes, combined where they are one for the query.
        """
        selection = self._select(np.asarray(starts, np.int64), np.asarray(ends, np.int64), present)
        if choice is not None:
            return self._answer_chosen(selection, tuple(wanted), choice)
        values = self._read_plan(tuple(wanted)).values(
            len(selection.window), lambda kind, comps: self._store.read(selection, kind, comps)
        )
        made = selection.made
        alike = self._alike.setdefault(ends.tobytes(), {}) if selection.full else made
        return Answered(selection.window, selection.group, values, selection.full, made, alike)

    def _answer_chosen(
        self, selection: Selection, wanted: tuple[ColumnSpec, ...], choice: Choice
    ) -> Answered:
        kept = self._kept(selection)
        before = kept.nbytes
        rows = kept.combined(choice, self._chooser, self.groups)
        values = self._read_plan(wanted).values(len(rows.window), rows.read)
        self._account(kept.nbytes - before)
        return Answered(rows.window, rows.group, values, rows.full, rows.made, rows.made)

    def answer_each(
        self,
        starts: Ints,
        ends: Ints,
        present: ColumnSpec,
        wanted: Sequence[ColumnSpec],
        choices: Sequence[Choice],
    ) -> Iterator[tuple[int, Answered, Ints]]:
        """The same for many choices, some at a time, the rows of one after those of the other.

        Gives the place of the first of them, their rows, and where the rows of each begin and end.
        """
        selection = self._select(np.asarray(starts, np.int64), np.asarray(ends, np.int64), present)
        if not len(selection.window):
            return
        kept, plan = self._kept(selection), self._read_plan(tuple(wanted))
        for made in kept.each(choices, self._chooser, self.groups):
            before, rows = kept.nbytes, made.rows
            values = plan.values(len(rows.window), rows.read)
            self._account(kept.nbytes - before)
            yield made.place, Answered(rows.window, rows.group, values), made.bounds

    def _kept(self, selection: Selection) -> Kept:
        """What the many that choose among the groups of a selection have read of them."""
        if _KEPT not in selection.made:
            selection.made[_KEPT] = Kept(
                selection, lambda kind, comps: self._store.read(selection, kind, comps)
            )
        kept: Kept = selection.made[_KEPT]
        return kept

    def _select(self, starts: Ints, ends: Ints, present: ColumnSpec) -> Selection:
        slot = self._slots.get(present)
        if slot is None or not len(starts) or not len(self._store.starts()):
            return nothing()
        comp = int(slot.comps[0])
        key = (starts.tobytes(), ends.tobytes(), comp)
        found = self._selections.get(key)
        if found is None:
            if bool((starts[1:] < starts[:-1]).any()) or bool((ends[1:] < ends[:-1]).any()):
                raise Bug("windows-unordered", "windows must be asked for in ascending order")
            found = self._store.select(starts, ends, comp)
            self._remember(key, found)
        return found

    def _remember(self, key: tuple[bytes, bytes, int], selection: Selection) -> None:
        """Queries that share windows and predicate find the same groups: look once per step."""
        self._account(selection.nbytes)
        self._selections[key] = selection

    def _account(self, nbytes: int) -> None:
        """So much more is remembered; what was before is forgotten where that is too much."""
        if self._remembered + nbytes > _REMEMBERED:
            self._forget()
        self._remembered += nbytes

    def _forget(self) -> None:
        self._selections.clear()
        self._alike.clear()
        self._time_rows.clear()
        self._remembered = 0

    def _read_plan(self, wanted: tuple[ColumnSpec, ...]) -> ReadPlan:
        plan = self._read_plans.get(wanted)
        if plan is None:
            plan = self._read_plans[wanted] = plan_read(wanted, self._slots)
        return plan

    def expire(self, before: int) -> None:
        """Drop the cells of slices that start before; then groups without cells, once they are the most."""
        starts = self._store.starts()
        if not len(starts) or int(starts[0]) >= before:
            return
        self._forget()
        self._store.expire(before)
        present = self._store.present()
        if len(present) > 64 and int(present.sum()) * 2 < len(present):
            kept = np.flatnonzero(present)
            self.groups.keep(kept)
            self._chooser.forget()
            self._store.keep_groups(kept)
        for slot in self._slots.values():
            if slot.codes is not None:
                kind, comp = slot.layout.kind, int(slot.comps[0])
                slot.codes.prune(lambda i, k=kind, c=comp: self._store.live(k, c, i), self._store.count)  # type: ignore[misc]
        self._choose_store(len(self._store.starts()), len(self.groups), self._store.count)

    def table(self) -> pa.Table:
        """All live cells, so that `from_table` gives the same state again."""
        cells = self._store.cells()
        arrays = {"slice": pa.array(cells.starts)}
        arrays |= {f"k{place}": key for place, key in enumerate(self.groups.take(cells.groups))}
        for number, slot in enumerate(self._slots.values()):
            arrays |= {f"c{number}{name}": array for name, array in dump(slot, cells).items()}
        columns = [[spec.text, spec.op, spec.type, spec.by_type] for spec in self._slots]
        meta = {"keys": self.groups.key_count, "columns": columns}
        return pa.table(arrays).replace_schema_metadata({_META: json.dumps(meta)})

    def taken(self, keys: Sequence[int], columns: Sequence[ColumnSpec]) -> FoldArgs:
        """All live cells with some of the keys and columns, for another state to fold."""
        cells = self._store.cells()
        found = self.groups.take(cells.groups)
        parts = {
            spec: {name[1:]: array for name, array in dump(self._slots[spec], cells).items()}
            for spec in columns
            if spec in self._slots
        }
        return cells.starts, [found[place] for place in keys], parts

    @classmethod
    def from_table(cls, table: pa.Table) -> FeedState:
        return cls.from_tables(table_keys(table), [table])

    @classmethod
    def from_tables(cls, key_count: int, tables: Iterable[pa.Table]) -> FeedState:
        """The state of all cells in tables that `table` made, of feeds with the same keys."""
        state = cls(key_count)
        for table in tables:
            state._load(table)
        return state

    def _load(self, table: pa.Table) -> None:
        meta = json.loads(table.schema.metadata[_META])
        columns: dict[ColumnSpec, Parts] = {}
        for number, column in enumerate(meta["columns"]):
            start = f"c{number}_"
            names = [name for name in table.column_names if name.startswith(start)]
            columns[ColumnSpec(*column)] = {name[len(start) :]: table[name] for name in names}
        self._make_room(columns, NOWHERE)
        keys = [table[f"k{place}"] for place in range(meta["keys"])]
        self.fold(table["slice"].to_numpy(), keys, columns)

    def drop_columns(self, keep: Sequence[ColumnSpec]) -> None:
        """Forget all columns but these."""
        kept = set(keep)
        if kept.issuperset(self._slots):
            return
        slots = {spec: slot for spec, slot in self._slots.items() if spec in kept}
        comps: dict[Kind, list[Ints]] = {kind: [NOWHERE] for kind in KINDS}
        comps[SUM].append(np.zeros(1, np.int64))
        self._slots, self._widths = {}, {SUM: 1}
        for spec, slot in slots.items():
            comps[slot.layout.kind].append(slot.comps)
            self._add_slot(spec)
            self._slots[spec] = Slot(slot.layout, self._slots[spec].comps, slot.codes)
        self._store.keep_components({kind: np.concatenate(parts) for kind, parts in comps.items()})
        self._forget()
        self._read_plans.clear()

    def _choose_store(self, times: int, groups: int, cells: int) -> None:
        """Dense where at least every 16th place is filled, sparse below; back only when every 4th is.

        Where that would take much memory, every third and every second.
        """
        places = times * groups
        fewest, back = (16, 4) if places <= _LARGE else (3, 2)
        dense = isinstance(self._store, Dense)
        if dense and places > max(_SMALL, fewest * cells):
            self._move_to(Sparse())
        elif not dense and places <= max(_SMALL // 2, back * cells):
            self._move_to(Dense())

    def _move_to(self, store: Store) -> None:
        cells = self._store.cells()
        self._store = store  # at once: both may be large
        store.widen(self._widths, len(self.groups))
        if len(cells.starts):
            writes = {kind: (np.arange(len(arrays[0])), arrays) for kind, arrays in cells.arrays.items()}
            store.fold(cells.starts, cells.groups, _without_mark(writes))


def table_keys(table: pa.Table) -> int:
    """By how many keys the cells of a table that `FeedState.table` made are grouped."""
    return int(json.loads(table.schema.metadata[_META])["keys"])


def _distinct(
    slices: Ints, groups: Ints, writes: Mapping[Kind, tuple[Ints, Arrays]]
) -> tuple[Ints, Ints, Mapping[Kind, tuple[Ints, Arrays]]]:
    """The same cells with those of one slice and group combined."""
    rows = np.searchsorted(distinct(slices), slices)
    cell = rows * (int(groups.max()) + 1) + groups
    if _are_distinct(cell):
        return slices, groups, writes
    order = np.argsort(cell, kind="stable")
    ordered = cell[order]
    runs = np.flatnonzero(np.diff(ordered, prepend=-1))
    combined: dict[Kind, tuple[Ints, Arrays]] = {}
    for kind, (comps, arrays) in writes.items():
        combined[kind] = comps, combine_runs(kind, tuple(array[:, order] for array in arrays), runs)
    first = order[runs]
    return slices[first], groups[first], combined


def _are_distinct(numbers: Ints) -> bool:
    """Whether no number, none negative, is there twice: by a flag for each where they lie close together."""
    most = int(numbers.max()) + 1
    if most > 16 * len(numbers) + 1024:
        return len(np.unique(numbers)) == len(numbers)
    met = np.zeros(most, bool)
    met[numbers] = True
    return int(np.count_nonzero(met)) == len(numbers)


def _without_mark(writes: Mapping[Kind, tuple[Ints, Arrays]]) -> dict[Kind, tuple[Ints, Arrays]]:
    """A store marks the cells it is given itself."""
    changed = dict(writes)
    comps, (sums,) = changed[SUM]
    changed[SUM] = comps[1:], (sums[1:],)
    return changed
