"""The durable history of a program: which queries it has had, since when, and from which batch on.

Every change is one numbered record, an *epoch*: it names the queries added and dropped, the streams declared
and the batch of each stream from which it is in force. What holds now is the sum of all changes; nothing is
rewritten.
The Spark query that feeds a stream is bound to it in a record of the same series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from weft.errors import Bug, RunError
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.log.series import Series
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A query to be added: its canonical text, and the bound after which its windows start (None: none).

    `picks_by`: the columns by which it picks its groups of a feed, until it is switched to others.
    `whole`: it sees the rows before the bound that the log holds, and only its answers begin after it.
    `reads`: the views and tables that it reads, as canonical text; with others it means something else.
    """

    name: str
    text: str
    bound: Instant | None = None
    picks_by: tuple[str, ...] = ()
    whole: bool = False
    reads: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """A running query is to pick by other columns, in windows that start after `at`."""

    name: str
    picks_by: tuple[str, ...]
    at: Instant


@dataclass(frozen=True, slots=True)
class Switched:
    """When a query was switched: windows that start up to `at` are answered by the columns from `before`.

    None: all of them have been answered, and nothing is kept under these any more.
    """

    at: Instant
    before: tuple[str, ...] | None
    epoch: int


@dataclass(frozen=True, slots=True)
class QueryVersion:
    """A query as it was added. `added` and `dropped` are epochs; its answers are kept under `key`.

    `reads` is None where that was not written down.
    """

    name: str
    version: int
    text: str
    bound: Instant | None
    added: int
    dropped: int | None = None
    picks_by: tuple[str, ...] = ()
    whole: bool = False
    reads: str | None = None
    switched: Switched | None = None  # the last time

    @property
    def key(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Epoch:
    """One change of the program, in force from batch `effective[stream]` on.

    For a stream that is not named it is in force from the same batch as the epoch before.
    """

    number: int
    effective: Mapping[str, int]
    added: tuple[str, ...]  # keys
    dropped: tuple[str, ...]  # keys
    reason: str
    at: str  # wall time, ISO 8601
    buckets: int = 0  # in how many the cells lay when it was decided what new queries start from; 0: together
    program: str = field(default="", repr=False)  # the program text as given
    switched: tuple[str, ...] = ()  # keys of queries that pick by other columns from then on
    settled: tuple[str, ...] = ()  # keys of those of whose windows from before none is left


class Catalog:
    """What the program is and was. Only the owner of the home changes it."""

    def __init__(self, home: Home) -> None:
        self._series = Series(home, "catalog", area="catalog")
        self._home = home
        self.refresh()

    def refresh(self) -> None:
        """See what another process has written since."""
        self._series.refresh()
        self._epochs: list[Epoch] = []
        self._versions: dict[str, list[QueryVersion]] = {}
        self._streams: dict[str, str] = {}
        self._spark: dict[str, str] = {}
        for record in self._series.records():
            self._apply(record.meta)

    def path_of(self, number: int) -> AnyPath:
        """The file of a record, there or not."""
        return self._series.path_of(number)

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        return tuple(self._epochs)

    @property
    def streams(self) -> dict[str, str]:
        """The declaration of each stream, as canonical text."""
        return dict(self._streams)

    def queries(self) -> tuple[QueryVersion, ...]:
        """The queries there are now, in the order they were added."""
        live = [versions[-1] for versions in self._versions.values() if versions[-1].dropped is None]
        return tuple(sorted(live, key=lambda query: query.added))

    def versions(self, name: str) -> tuple[QueryVersion, ...]:
        """Every version a query has had, oldest first."""
        return tuple(self._versions.get(name, ()))

    def all_versions(self) -> tuple[QueryVersion, ...]:
        return tuple(version for versions in self._versions.values() for version in versions)

    def epoch_at(self, stream: str, batch: int) -> Epoch | None:
        """The epoch in force for a batch of a stream."""
        found, since = None, 0
        for epoch in self._epochs:
            since = epoch.effective.get(stream, since)
            found = epoch if since <= batch else found
        return found

    def queries_in(self, epoch: int) -> tuple[QueryVersion, ...]:
        """The queries there were in an epoch."""
        return tuple(
            version
            for version in self.all_versions()
            if version.added <= epoch and (version.dropped is None or version.dropped > epoch)
        )

    def change(
        self,
        *,
        effective: Mapping[str, int],
        add: Sequence[NewQuery] = (),
        drop: Sequence[str] = (),
        streams: Mapping[str, str] | None = None,
        reason: str = "program",
        buckets: int = 0,
        program: str = "",
        switch: Sequence[Switch] = (),
        settle: Sequence[str] = (),
    ) -> Epoch:
        """Begin a new epoch: drop, add, switch and settle queries, declare streams, all or nothing.

        A query that is dropped and added in one change becomes the next version of its name; so does one that
        is added again after it was dropped earlier.
        """
        self._check_change(add, [*drop, *(one.name for one in switch), *settle], drop)
        meta: dict[str, Any] = {
            "kind": "epoch",
            "epoch": len(self._epochs),
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "reason": reason,
            "buckets": buckets,
            "effective": dict(effective),
            "add": [
                [
                    *(new.name, self._next_version(new.name), new.text, new.bound),
                    *(list(new.picks_by), new.whole, new.reads),
                ]
                for new in add
            ],
            "drop": list(drop),
            "streams": dict(streams or {}),
            "program": program,
        }
        if switch or settle:
            meta["switch"] = [[one.name, list(one.picks_by), one.at] for one in switch]
            meta["settle"] = list(settle)
        self._commit(meta)
        return self._epochs[-1]

    def _check_change(self, add: Sequence[NewQuery], touched: Sequence[str], drop: Sequence[str]) -> None:
        live = {query.name for query in self.queries()}
        unknown = [name for name in touched if name not in live]
        double = [new.name for new in add if new.name in live and new.name not in drop]
        if unknown or double or len({new.name for new in add}) < len(add):
            raise Bug("bad-change", f"cannot change {unknown} or add {double or [new.name for new in add]}")

    def _next_version(self, name: str) -> int:
        return len(self._versions.get(name, ())) + 1

    def spark_query(self, stream: str) -> str | None:
        """The id of the Spark query that feeds a stream."""
        return self._spark.get(stream)

    def bind_spark_query(self, stream: str, query_id: str) -> None:
        """Tie a stream to the Spark query that feeds it, for good; another one is refused."""
        bound = self._spark.get(stream)
        if bound is None:
            self._commit({"kind": "spark-query", "stream": stream, "id": query_id})
        elif bound != query_id:
            raise RunError(
                "checkpoint-of-another-log",
                f"the checkpoint of stream `{stream}` is not the one its log was written from",
                because=f"the log belongs to Spark query {bound}, the checkpoint to {query_id}",
                help="restore the whole home, checkpoint and log together, or start in another home",
            )

    def _commit(self, meta: dict[str, Any]) -> None:
        record = self._series.commit(self._series.next, {}, meta)
        self._apply(record.meta)
        if record.meta != meta:
            self._home.check_owner()
            raise RunError(
                "home-taken",
                f"the owner of {self._home.path} before this one has just written to it once more",
                help="start again: what it wrote is taken into account then",
            )

    def _apply(self, meta: Mapping[str, Any]) -> None:
        if meta["kind"] == "spark-query":
            self._spark[meta["stream"]] = meta["id"]
            return
        number = meta["epoch"]
        dropped = [self._drop(name, number) for name in meta["drop"]]
        added = [self._add(_query_version(query, number)) for query in meta["add"]]
        self._streams |= meta["streams"]
        self._epochs.append(
            Epoch(
                number,
                meta["effective"],
                tuple(added),
                tuple(dropped),
                meta["reason"],
                meta["at"],
                meta["buckets"],
                meta["program"],
                tuple(self._switch(number, *one) for one in meta.get("switch", ())),
                tuple(self._settle(name) for name in meta.get("settle", ())),
            )
        )

    def _drop(self, name: str, epoch: int) -> str:
        versions = self._versions[name]
        versions[-1] = replace(versions[-1], dropped=epoch)
        return versions[-1].key

    def _switch(self, epoch: int, name: str, picks_by: Sequence[str], at: Instant) -> str:
        last = self._versions[name][-1]
        switched = Switched(at, last.picks_by, epoch)
        self._versions[name][-1] = replace(last, picks_by=tuple(picks_by), switched=switched)
        return last.key

    def _settle(self, name: str) -> str:
        last = self._versions[name][-1]
        assert last.switched is not None
        self._versions[name][-1] = replace(last, switched=replace(last.switched, before=None))
        return last.key

    def _add(self, query: QueryVersion) -> str:
        self._versions.setdefault(query.name, []).append(query)
        return query.key


def _query_version(added: Sequence[Any], epoch: int) -> QueryVersion:
    name, version, text, bound, *others = added
    missing: list[Any] = [(), False, None][len(others) :]  # in homes from before they were kept
    picks_by, whole, reads = [*others, *missing]
    return QueryVersion(name, version, text, bound, epoch, picks_by=tuple(picks_by), whole=whole, reads=reads)
