"""The two loops around the log, without Spark: batches come in, answers go out, nothing is lost or doubled.

    commit   a batch's partials become durable                        called by the ingest of each stream
    refresh  what was read of a table is its next version             called by whoever reads tables
    step     what is durable is folded, closed windows are answered   called by the answer loop
    change   another program is in force from the next batch on       called by the session

What is in memory is a cache of the log; opening a home builds it anew after any crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from weft.engine.answering import Step
from weft.engine.batch import Batch
from weft.engine.bucketed import Bucketed, Place
from weft.engine.buckets import is_cells
from weft.engine.census import Census
from weft.engine.epochs import FAILED, PicksBy, Texts, unchanged
from weft.engine.errands import Crew
from weft.engine.force import adopt, planned, put_in_force
from weft.engine.fresh import Fresh
from weft.engine.knowledge import basis_of
from weft.engine.meter import Meter
from weft.engine.recovery import (
    find,
    load_relations,
    load_states,
    recall,
    restore,
    save,
    was_in_buckets,
)
from weft.engine.relations.spreads import Spreads
from weft.engine.relations.state import Relations
from weft.engine.shape import Done, Job
from weft.engine.step import StreamState
from weft.engine.switching import settle, switch
from weft.engine.tables import TableVersions, check_key, shaped
from weft.engine.tally import Tally
from weft.engine.windows import Reach
from weft.errors import RunError
from weft.log.answers import AnswerLog
from weft.log.catalog import Catalog, QueryVersion
from weft.log.home import Home
from weft.log.ingest import IngestLog, IngestRecord
from weft.log.snapshots import Snapshot, Snapshots
from weft.plan.nodes import Program
from weft.share.build import Planner
from weft.share.members import Taken
from weft.share.nodes import SharedPlan, StreamPlan
from weft.times import BEGINNING, Instant

Finisher = Callable[[Sequence[Job]], Sequence[Done]]

SNAPSHOT_EVERY = 50  # steps: bounds both recovery time and the files that the log holds


class Terms(NamedTuple):
    """What a batch is ingested under."""

    epoch: int
    plan: StreamPlan | None  # None: no query reads the stream
    crew: Crew | None  # whose buckets hold its cells


class Runtime:
    """A program on a home. Ingest, answering and change may call from threads of their own."""

    program: Program  # in force
    plan: SharedPlan  # with rows and cells kept apart, where they lie in buckets
    woven: SharedPlan  # the same as it was made
    epoch: int
    running: dict[str, QueryVersion]

    def __init__(
        self,
        home: Home,
        program: Program,
        finisher: Finisher,
        crew: Crew | None = None,
        texts: Texts | None = None,
    ) -> None:
        self.home, self.finisher, self.texts = home, finisher, texts or Texts()
        self.crew: Crew | None = None  # whose buckets hold the cells; None: they are held here
        self.catalog, self.answers, self.snapshots = Catalog(home), AnswerLog(home), Snapshots(home)
        self.logs = {stream.name: IngestLog(home, stream.name) for stream in program.streams}
        self.tables = TableVersions(home, program.tables)
        self.planner = Planner()
        self.lock = threading.RLock()  # the program in force, and commits
        self.news = threading.Condition()  # a batch was committed, or all is to end
        self._stepping = threading.Lock()
        self._refreshing = threading.Lock()
        self.fresh = Fresh(self.logs)
        self.latest: dict[str, Instant] = {}
        self.told = BEGINNING  # before here all may have been told: no version of a table comes into force
        self.states: dict[str, StreamState | Bucketed] = {}
        self.reached: dict[str, Reach] = {}  # how far streams had come that no query reads now
        self.positions: dict[str, int] = {}
        self.folded: dict[str, Instant] = {}  # the greatest event time of what is folded, by stream
        self.first: dict[str, Instant] = {}  # the least
        self.tally, self.step_number = Tally(), -1
        self.relations, self.spreads = Relations(finisher), Spreads(None, self._first_batches)
        self.dead: set[str] = set()
        self._failure: BaseException | None = None
        self.step_seconds = self.latency = 0.0
        self.meter, self.census = Meter(), Census()
        self.groups: dict[str, dict[tuple[str, ...], int]] = {}  # of each stream's feeds, by their keys
        self.cells = self.state_bytes = 0  # as of the last step: the state itself is for its thread alone
        snapshot = find(self)
        self._resume(program, crew, snapshot)
        self.place(crew)
        put_in_force(self, program)
        if snapshot is None or set(snapshot.meta.get("flows", ())) != self.relations.flows.names:
            self._save_flows()

    def _resume(self, program: Program, crew: Crew | None, snapshot: Snapshot | None) -> None:
        """Come to where the last run was, with the queries that go on; only then is the program changed."""
        if crew is not None and was_in_buckets(self, snapshot):
            self.crew = crew
            self._hold_relations(crew)
        folded = snapshot.meta["folded"] if snapshot else {}
        for name, log in self.logs.items():
            self.latest[name] = max(_latest(log.records()), folded.get(name, BEGINNING))
        if self.catalog.epochs:
            stay = unchanged(self.catalog, program, self.texts)
            kept = replace(program, queries=tuple(query for query in program.queries if query.name in stay))
            recall(self, snapshot)
            adopt(self, kept, planned(self, kept))
            restore(self, snapshot)
            reached = [*self.reached.values(), *(state.reach for state in self.states.values())]
            settled = self.relations.settled
            after = [settled + 2] if settled > BEGINNING else []
            self.told = max([self.told, *after, *(reach.watermark for reach in reached)])
            self.measure()
            self.groups = {name: state.count_groups() for name, state in self.states.items()}

    # -- the program in force

    def change(self, program: Program) -> None:
        """Put another program in force at the next batch."""
        with self._stepping, self.lock:
            for name in {stream.name for stream in program.streams} - set(self.logs):
                self.logs[name] = IngestLog(self.home, name)
                self.latest[name] = max(_latest(self.logs[name].records()), self.folded.get(name, BEGINNING))
            self.declare(program)
            flows = set(self.relations.flows)
            put_in_force(self, program)
            if flows != set(self.relations.flows):
                self._save_flows()

    def _save_flows(self) -> None:
        """Tables of changes that came or went: a restart is not to go on with those of the last snapshot."""
        if self.step_number >= 0 and self._failure is None:
            save(self)

    def declare(self, program: Program) -> None:
        """The tables of a program that is to be in force; refused if one was made otherwise before."""
        self.relations.flows.check(program.tables)
        self.tables.declare(program.tables)

    def quarantine(self, failed: Mapping[str, str]) -> None:
        """Take queries out of force, each with the reason; the others go on."""
        with self._stepping:
            self.take_out(failed)

    def take_out(self, failed: Mapping[str, str]) -> None:
        with self.lock:
            for name, reason in failed.items():
                self.catalog.change(
                    effective=self.next_batches(),
                    drop=[name],
                    reason=FAILED + reason,
                    buckets=self.buckets,
                )
            self.planner = self.planner.anew(basis_of(self), without=failed)()  # what fails is in the plan
            self.renew()

    def switch(self, picks_by: PicksBy, why: str, epoch: int | None = None) -> bool:
        """Have running queries pick by other columns, in windows that start after all rows so far.

        False: nothing is switched, for another `epoch` is in force by now than that it was found of.
        """
        with self._stepping, self.lock:
            if epoch not in (None, self.epoch):
                return False
            switch(self, picks_by, why)
            return True

    def reweave(self) -> bool:
        """Take what queries needed that are gone out of the plan, once it is much; others go on meanwhile."""
        with self.lock:
            planner = self.planner
            if not planner.is_stale:
                return False
            weave = planner.anew(basis_of(self))
        made = weave()
        with self._stepping, self.lock:
            if self.planner is not planner:  # one without queries that fail has taken over
                return False
            self.planner = made
            self.renew()
            return True

    def taken(self, stream: str) -> tuple[Taken, ...]:
        """The queries of a stream as its plan takes them."""
        return self.planner.taken(stream)

    def renew(self) -> None:
        """Go on under the plan that the catalog asks for now."""
        adopt(self, self.program, planned(self, self.program))

    def next_batches(self) -> dict[str, int]:
        return {name: log.next for name, log in self.logs.items()}

    def place_of(self, crew: Crew) -> Place:
        return Place(self.home, crew, lambda: self.answers.stem(self.step_number + 1))

    def _hold_relations(self, crew: Crew | None) -> None:
        """Begin with no relations; those that have a key will lie in the buckets of the crew."""
        self.relations = Relations(self.finisher)
        self.spreads = Spreads(None if crew is None else self.place_of(crew), self._first_batches)
        taken, self.tables.taken = self.tables.taken, {}
        self.tables.take(taken, self.relations.revise)

    def _first_batches(self) -> dict[str, int]:
        return {name: log.first for name, log in self.logs.items()}

    def place(self, crew: Crew | None) -> None:
        """Have the cells held by the buckets of a crew, or here: by way of a snapshot."""
        if crew is self.crew:
            return
        with self._stepping, self.lock:
            self._check_whole()
            if self.step_number >= 0:
                save(self)
            self.crew = crew
            self._hold_relations(crew)
            if self.catalog.epochs:
                self.reached |= {name: state.reach for name, state in self.states.items()}
                self.states = {}
                adopt(self, self.program, planned(self, self.program))
                if self.step_number >= 0:
                    snapshot = self.snapshots.open(self.step_number)
                    load_states(self, snapshot)
                    load_relations(self, snapshot)

    @property
    def buckets(self) -> int:
        """In how many buckets the cells lie; 0: they are held here."""
        return 0 if self.crew is None else self.crew.buckets

    def terms(self, name: str) -> Terms:
        """What the next batch of a stream is to be ingested under: all of one moment, for it may change."""
        with self.lock:
            plan = next((p for p in self.plan.streams if p.stream.name == name), None)
            return Terms(self.epoch, plan, self.crew)

    def dead_keys(self) -> set[str]:
        """The tables of dead letters that steps have written since this was last asked."""
        with self.lock:
            found, self.dead = self.dead, set()
        return found

    def release(self, delivered: int) -> None:
        """Let go of the answers up to a step that every sink holds, and that recovery does not need."""
        horizon = self.snapshots.horizon()
        if horizon is not None:
            self.answers.expire(min(delivered, horizon["step"]))

    # -- ingest

    def watermark(self, *streams: str) -> Instant | None:
        """The watermark after all batches taken in so far: the least of these streams."""
        found = [
            self.latest.get(one, BEGINNING) - self.program.stream(one).statement.delay
            for one in streams
            if self.latest.get(one, BEGINNING) > BEGINNING
        ]
        return min(found) if len(found) == len(streams) else None

    def latest_times(self) -> dict[str, Instant]:
        """The greatest event time taken in so far, by stream."""
        with self.lock:
            return dict(self.latest)

    def waiting(self) -> int:
        """How many cells are durable that no step has folded yet."""
        with self.lock:
            logs = [(log, self.positions.get(name, -1)) for name, log in self.logs.items()]
        records = [record for log, position in logs for record in log.records(after=position)]
        return sum(record.data.rows(name) for record in records for name in record.tables if is_cells(name))

    def has(self, stream: str, batch: int) -> bool:
        return batch < self.logs[stream].next

    def commit(self, batch: Batch) -> bool:
        """Make a batch durable; if it is already, the first one stands.

        False: the program has changed meanwhile, and the batch must be ingested again, for the new one.
        """
        meta, tables = batch.meta(), batch.tables()
        self.census.count(batch.stream, meta["rows"], batch.what_cells_tell(), batch.asked)
        with self.lock:
            if batch.epoch != self.epoch:
                return False
            record = self.logs[batch.stream].commit(batch.number, tables, meta, batch.written)
            if record.meta == meta:
                self.fresh.keep(batch.stream, batch.number, tables)
            self.latest[batch.stream] = max(
                self.latest.get(batch.stream, BEGINNING), _or_beginning(record.meta["max_time"])
            )
        with self.news:
            self.news.notify_all()
        return True

    def refresh(self, name: str, rows: pa.Table) -> bool:
        """Make these the rows of a table; False: they are what they were.

        Rows of streams that are durable see the version before, those that are to come after all of them this
        one: it does not matter how rows are cut into batches, nor when a step is made.
        """
        table = self.tables.declared[name]
        rows = shaped(table, rows)
        check_key(table, rows)
        with self._refreshing:
            if not self.tables.differs(table, rows):
                return False
            with self.lock:
                self.tables.add(table, rows, max([self.told - 1, *self.latest.values()]))
        return True

    # -- answering

    def step(
        self, why: str = "batch", drain: bool = False, watermarks: Mapping[str, Instant] | None = None
    ) -> bool:
        """Fold what is new and answer what it closes; False when there was nothing to do."""
        with self._stepping:
            self._check_whole()
            news = {name: log.records(after=self.positions.get(name, -1)) for name, log in self.logs.items()}
            reach = {name: self._reach(name, news[name], drain, watermarks or {}) for name in self.states}
            moved = any(reach[name] != state.reach for name, state in self.states.items())
            if not moved and not any(news.values()):
                return False
            intent = {
                "epoch": self.epoch,
                "why": why,
                "positions": self.positions
                | {n: records[-1].number for n, records in news.items() if records},
                "reach": {name: [r.watermark, r.drained] for name, r in reach.items()},
                "tables": self._tables_for(reach),
            }
            self.answers.intend(self.step_number + 1, intent)
            self._run_whole(self.step_number + 1, intent)
            settle(self)
            return True

    def _tables_for(self, reach: Mapping[str, Reach]) -> dict[str, int]:
        """The versions that a step uses which goes so far: no later one will be in force before that."""
        with self.lock:
            self.told = max([self.told, *(at.watermark for at in reach.values())])
            if any(at.drained > self.states[name].reach.drained for name, at in reach.items()):
                drained = [at.drained for at in reach.values()]
                self.told = max(self.told, max([*drained, self.tables.newest()]) + 2)
            return self.tables.latest()

    def closes(self, stream: str, watermark: Instant) -> bool:
        """Would a watermark this far close a window that holds a row?"""
        with self._stepping:
            state = self.states.get(stream)
            if state is None or watermark <= state.reach.watermark:
                return False
            reach = Reach(watermark, state.reach.drained)
            all_ = {name: each.reach for name, each in self.states.items()} | {stream: reach}
            waits = self.relations.waits(all_) or self.spreads.waits(all_)
            return waits or state.closes(reach, self.first.get(stream))

    def _run_whole(self, step: int, intent: Mapping[str, Any]) -> None:
        """A step that fails half-way leaves a state that is not what the log says: no other may follow it."""
        try:
            self.do(step, intent)
        except BaseException as error:
            self._failure = error
            raise

    def _check_whole(self) -> None:
        if self._failure is not None:
            raise RunError(
                "step-failed",
                f"an earlier step failed: {self._failure.args[0] if self._failure.args else self._failure}",
                help="start the program again: it goes on where it was",
            )

    def do(self, step: int, intent: Mapping[str, Any]) -> None:
        """Do a step that is intended, now or since before a crash."""
        Step(self, step, intent).run()
        if step % SNAPSHOT_EVERY == 0:
            save(self)

    def _reach(
        self, stream: str, news: list[IngestRecord], drain: bool, watermarks: Mapping[str, Instant]
    ) -> Reach:
        state = self.states[stream]
        latest = max(self.folded.get(stream, BEGINNING), _latest(news))
        if latest == BEGINNING or stream not in {known.name for known in self.program.streams}:
            return state.reach
        watermark = max(latest - self.program.stream(stream).statement.delay, state.reach.watermark)
        watermark = max(watermark, watermarks.get(stream, BEGINNING))
        return Reach(watermark, max(latest, state.reach.drained) if drain else state.reach.drained)

    def measure(self) -> None:
        """Even looking at the cells may change how they are held, so whoever reports is told, not shown."""
        held = (*self.states.values(), self.spreads)
        self.cells = sum(each.cells for each in held) + self.relations.rows
        self.state_bytes = sum(each.nbytes for each in held) + self.relations.nbytes
        self.census.match(self.relations.keys())

    def records_upto(self, positions: Mapping[str, int]) -> list[tuple[str, IngestRecord]]:
        """The batches not yet folded, up to and including these, each with its stream."""
        return [
            (name, record)
            for name, upto in positions.items()
            if name in self.logs
            for record in self.logs[name].records(after=self.positions.get(name, -1))
            if record.number <= upto
        ]

    def fold(self, stream: str, record: IngestRecord) -> dict[str, int]:
        """Take in one batch; gives its late rows by query."""
        latest = _or_beginning(record.meta["max_time"])
        self.folded[stream] = max(self.folded.get(stream, BEGINNING), latest)
        if (first := record.meta["min_time"]) is not None:
            self.first[stream] = min(self.first.get(stream, first), first)
        if self.relations and (rows := self.fresh.rows(stream, record)) is not None:
            self.relations.fold(stream, record.number, rows)
        if stream not in self.states:
            return {}
        return self.states[stream].take_in(record, lambda: self.fresh.cells(stream, record))


def _latest(records: Sequence[IngestRecord]) -> Instant:
    return max((_or_beginning(record.meta["max_time"]) for record in records), default=BEGINNING)


def _or_beginning(at: Instant | None) -> Instant:
    return BEGINNING if at is None else at
