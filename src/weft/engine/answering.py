"""One step: batches are folded, the windows they close are answered, and a record makes it count.

    fold       the batches up to the intended positions; standing filters and dead letters go on as they are
    answer     what is due by then, written as it is made
    commit     one record that lists what was written, with the totals: from here on the step is done

A step that is done again after a crash is given the same intent; what it made before has no record.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.collecting import uncollected
from weft.engine import letters
from weft.engine.due import Answers, finish
from weft.engine.letters import DEAD
from weft.engine.outcome import Outcome, stopped
from weft.engine.relations.bucket import Moment
from weft.engine.windows import Reach
from weft.log.ingest import IngestRecord
from weft.share.model.cost import Level

if TYPE_CHECKING:
    from weft.engine.runtime import Runtime

Records = list[tuple[str, IngestRecord]]  # batches, each with its stream


class Step:
    """A step of a runtime under way, from its intent to its record."""

    def __init__(self, runtime: Runtime, number: int, intent: Mapping[str, Any]) -> None:
        self._runtime, self._number, self._intent = runtime, number, intent
        self._keys = {name: query.key for name, query in runtime.running.items()}
        self._tables: dict[str, pa.Table] = {}
        self._late: Counter[str] = Counter()
        self._keys_in: dict[int, dict[str, str]] = {}  # by epoch
        self._outcome = Outcome(self._keys)

    @uncollected()
    def run(self) -> None:
        """Do it; the runtime stands behind it afterwards."""
        runtime, began = self._runtime, time.time()
        records = runtime.records_upto(self._intent["positions"])
        runtime.tables.take(self._intent.get("tables", {}), runtime.relations.revise)
        with runtime.meter.during(Level.FOLD):
            self._fold(records)
        reach = {name: Reach(*pair) for name, pair in self._intent["reach"].items()}
        made = self._answer(reach)
        related = runtime.relations or runtime.spreads
        with runtime.meter.during(Level.FINAL) if related else nullcontext():
            if runtime.relations:
                self._relate(reach)
            made.add(self._relate_in_buckets(reach))
        failing = self._failing(records, made)
        with runtime.meter.during(Level.OUTPUT):
            self._commit(made.without(failing), failing)
        runtime.positions, runtime.step_number = dict(self._intent["positions"]), self._number
        oldest = min((record.meta["started"] for _, record in records), default=began)
        runtime.step_seconds, runtime.latency = time.time() - began, time.time() - oldest
        if failing:
            runtime.take_out(failing)
        runtime.groups = {name: state.count_groups() for name, state in runtime.states.items()}
        with runtime.meter.during(Level.FOLD):
            for state in runtime.states.values():
                state.expire()
        runtime.measure()

    def _fold(self, records: Records) -> None:
        for stream, record in records:
            self._late.update(self._runtime.fold(stream, record))
            self._pass_through(stream, record)
            self._outcome.add_batch(stream, record, self._keys_of(record))
        self._outcome.add_standing({k: t.num_rows for k, t in self._tables.items() if not k.startswith(DEAD)})

    def _pass_through(self, stream: str, record: IngestRecord) -> None:
        fresh, in_force = self._runtime.fresh, set(self._keys.values())
        for key, rows in fresh.passing(stream, record, self._keys_of(record)):
            if key.startswith(DEAD) or key in in_force:
                self._append(key, rows)
        fresh.forget(stream, record.number)

    def _answer(self, reach: Mapping[str, Reach]) -> Answers:
        """Answer what is due, and add to the late rows those that only the buckets know of."""
        runtime = self._runtime
        states = {name: runtime.states[name] for name in reach if name in runtime.states}
        dues = [state.due(reach[name], runtime.first.get(name)) for name, state in states.items()]
        items = runtime.meter.watched((item for due in dues for item in due.items), Level.OUTPUT)
        with runtime.meter.during(Level.OUTPUT), runtime.answers.writer(self._number) as out:
            made = finish(items, runtime.finisher, out)
            made.take(out)
        for due in dues:
            made.add(due.said)
            self._late.update(due.late)
        for name, state in states.items():
            state.reach = reach[name]
        return made

    def _relate(self, reach: Mapping[str, Reach]) -> None:
        """What is new of relations, and what went wrong with them."""
        relations = self._runtime.relations
        answers = relations.answer(reach, self._runtime.folded, self._runtime.first)
        relations.forget(reach)
        self._late.update(relations.late())
        self._outcome.add_related(answers, relations.failed())
        for name, table in answers.items():
            self._append(self._keys[name], table)

    def _relate_in_buckets(self, reach: Mapping[str, Reach]) -> Answers:
        """What buckets say of relations; most of it lies in files already."""
        now = Moment(dict(self._intent["positions"]), dict(reach), dict(self._runtime.folded))
        said = self._runtime.spreads.answer(now)
        self._late.update(said.late)
        self._outcome.add_related({}, said.failed)
        return said.answers

    def _failing(self, records: Records, made: Answers) -> dict[str, str]:
        """The queries that stop with this step, and why."""
        queries = self._runtime.program.queries
        strict = {query.name for query in queries if query.fail_on_error} & set(self._keys)
        return stopped(strict, [record for _, record in records], made, self._keys, self._keys_of)

    def _commit(self, made: Answers, failing: Mapping[str, str]) -> None:
        runtime, key = self._runtime, self._keys.__getitem__
        self._outcome.add_answers(made, self._late)
        self._tables |= {key(name): table for name, table in made.tables.items()}
        for name, failed in made.failed.items():
            self._append(f"{DEAD}{key(name)}", letters.of_answers(name, failed))
        counts = self._outcome.tally.to_json()
        told = {"counts": counts, "stopped": {key(name): why for name, why in failing.items()}}
        written = [bundle.renamed(key) for bundle in made.written]
        kept = {key(name): table for name, table in made.kept.items()}
        runtime.answers.commit(self._number, self._tables, dict(self._intent) | told, written, kept)
        runtime.tally.add(counts)
        with runtime.lock:
            runtime.dead |= {key for key in self._tables if key.startswith(DEAD)}

    def _keys_of(self, record: IngestRecord) -> dict[str, str]:
        """The query versions that a batch was ingested for, by name: not always those in force now."""
        epoch = record.meta["epoch"]
        if epoch not in self._keys_in:
            queries = self._runtime.catalog.queries_in(epoch)
            self._keys_in[epoch] = {query.name: query.key for query in queries}
        return self._keys_in[epoch]

    def _append(self, key: str, rows: pa.Table) -> None:
        there = self._tables.get(key)
        self._tables[key] = rows if there is None else pa.concat_tables([there, rows])
