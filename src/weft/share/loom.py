"""The shared plan of one stream, woven query by query.

    feeds      by group keys; each holds the partials that its queries read, each once
    edges      where the windows of all queries start or end
    wanted     which rows any query asks for

A query that comes adds what it needs and changes nothing of the others; so its plan is made in the time that
one query takes. When one goes, what only it needed stays until a new loom takes over: rows go on being
aggregated by the same code, and the others are where they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from weft.lang.statements import Expr, WindowSpec
from weft.plan.nodes import Stream
from weft.share.drafts import Drafts
from weft.share.intervals import is_interval
from weft.share.members import Taken, columns_in, members, standing
from weft.share.model.forecast import Basis
from weft.share.model.treatment import Facts
from weft.share.nodes import Edges, Feed, Guard, Standing, StreamPlan, Tap
from weft.share.parts import conjunction, disjunction, parts
from weft.share.predicates import About, Apart, Asking, Condition, Equals, Hidden, Turn, Turns, about, decide
from weft.share.signatures import PickedBits, covering, is_signature
from weft.share.slicing import Pair, cut, pairs_of
from weft.share.strands import in_strand, nearest, strand_of, without_strand
from weft.share.treatments import Picks, judged, with_signatures
from weft.share.weave.rates import fine_rate
from weft.times import Duration

NO_TURNS: Turns = {}
SEVERAL = 2  # queries that ask for values of a column: for one alone it is never a key
SKETCHED = 8  # columns of which values are counted though they are no key, those that are asked for most


class Loom:
    """Queries on one stream, and the plan that they share."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.types = {column.name: column.type for column in stream.columns}
        self.hidden: dict[str, tuple[str, ...]] = {}  # by query: the keys it picks groups by
        self._basis = Basis()
        self._drafts = Drafts()
        self.taps: dict[str, Tap] = {}
        self._standing: dict[str, Standing] = {}
        self._guards: dict[str, Guard] = {}
        self._conditions: dict[Condition, None] = {}  # that groups could be picked by, each once
        self._counts: Counter[About] = Counter()  # of them, by what they are about
        self._asking: dict[str, set[str]] = {}  # by column: the queries that ask rows for its values
        self._columns = {stream.statement.time_column}
        self._sources: set[Expr | None] = set()  # whose columns are among these
        self._wanted = _Wanted()
        self._cuts = _Cuts()
        self._strands: dict[int, _Cuts] = {}  # of each by itself
        self._readers: Counter[int] = Counter()  # by feed

    def add(self, queries: Iterable[Taken], fixed: Hidden, basis: Basis, turns: Turns = NO_TURNS) -> None:
        """Take in queries; `fixed` tells by which keys some of them pick groups, `turns` since when.

        By which the others do is decided here, and `basis` is what that rests on.
        """
        new, self._basis = list(queries), basis
        self._decide(new, fixed, basis)
        for taken in new:
            name = taken.query.name
            self._ask(taken)
            if taken.safe.guard is not None:
                self._guards[name] = taken.safe.guard
                self._read(taken.safe.guard.fails)
            if taken.parts.aggregate is None:
                self._add_standing(name, standing(taken))
            else:
                self._add_tap(taken, turns.get(name))

    @classmethod
    def decided(cls, stream: Stream, queries: Iterable[Taken], basis: Basis) -> Hidden:
        """By which keys the queries of a stream would pick if all were added now."""
        loom = cls(stream)
        loom._decide(list(queries), {}, basis)
        return loom.hidden

    def _decide(self, new: Iterable[Taken], fixed: Hidden, basis: Basis) -> None:
        """By which keys the queries pick groups."""
        for taken in new:
            fresh = [one for one in taken.conditions if one not in self._conditions]
            self._conditions.update(dict.fromkeys(fresh))
            self._counts.update(map(about, dict.fromkeys(fresh)))
        self.hidden |= {taken.query.name: fixed.get(taken.query.name, ()) for taken in new}
        open_ = {taken.query.name: taken for taken in new if taken.may_pick and taken.query.name not in fixed}
        if any(taken.safe.where is not None for taken in open_.values()):
            self.hidden |= self._picks(open_, self._facts(open_.values(), basis))
        if any(self._strands):
            self.hidden |= self._in_strands(open_.values())

    def _picks(self, new: Mapping[str, Taken], facts: Facts) -> Picks:
        """By which keys new queries are to pick."""
        picked = dict.fromkeys(self.hidden.values())  # few, by however many queries
        known = dict.fromkeys(key for keys in picked for key in without_strand(keys))
        asking = {name: Asking(taken.conditions, taken.parts.window) for name, taken in new.items()}
        cut = [key for key in known if is_interval(key)]
        picks = decide(asking, self._counts, cut, self.types, judged(new, known, facts))
        signed = [key for key in known if is_signature(key)]
        return with_signatures(new, picks, signed, facts, self.types)

    def _in_strands(self, new: Iterable[Taken]) -> Picks:
        """The same, in the strands that suit the windows of new queries best."""
        edges = {at: cuts.edges() for at, cuts in self._strands.items()}
        return {
            each.query.name: in_strand(self.hidden[each.query.name], nearest(pairs_of(window), edges))
            for each in new
            if (window := each.parts.window) is not None
        }

    def _facts(self, new: Iterable[Taken], basis: Basis) -> Facts:
        """What the choice of keys rests on."""
        for taken in new:
            if taken.parts.window is not None:
                self._cuts.add(taken.parts.window)
        return self._known(basis)

    def _known(self, basis: Basis) -> Facts:
        by_row = basis.constants.by_columns if self.stream.statement.format == "parquet" else 1.0
        return Facts(basis.loads.of(self.stream.name), basis.constants, fine_rate(self._cuts.edges()), by_row)

    def _ask(self, taken: Taken) -> None:
        """Note what values it asks rows for, those by which it does not pick."""
        name = taken.query.name
        for one in taken.conditions:
            if isinstance(one, Equals) and one.column.sql not in self.hidden[name]:
                self._asking.setdefault(one.column.sql, set()).add(name)

    def _read(self, *sources: Expr | None) -> None:
        """Note the columns that expressions speak of; most of them others have as well."""
        fresh = set(sources) - self._sources
        self._sources |= fresh
        self._columns.update(columns_in(*fresh))

    def _add_standing(self, name: str, made: Standing) -> None:
        self._standing[name] = made
        self._read(made.where, *(item.expr for item in parts(made.query).items))

    def _add_tap(self, taken: Taken, turn: Turn | None) -> None:
        name = taken.query.name
        tap = self._tap(taken, self.hidden[name])
        if turn is not None:
            before = turn.before
            earlier = None if before is None else replace(self._tap(taken, before), until=turn.at)
            tap = replace(tap, after=turn.at, earlier=earlier)
        self.taps[name] = tap
        self._readers.update(tap.reads)

    def _tap(self, taken: Taken, keys: tuple[str, ...]) -> Tap:
        """The tap of a query that picks by these keys."""
        taps, strand = [], strand_of(keys)
        for member in members(taken, without_strand(keys), self.types):
            taps.append(self._drafts.add(member, strand))
            self._read(*member.sources())
            self._wanted.add(member.apart)
            self._cuts.add(member.window)
            self._strands.setdefault(strand, _Cuts()).add(member.window)
        return replace(taps[0], others=tuple(taps[1:])) if len(taps) > 1 else taps[0]

    def drop(self, name: str) -> None:
        """Let a query go."""
        if name in self.taps:
            self._readers.subtract(self.taps[name].reads)
        for mine in (self.taps, self._standing, self._guards, self.hidden):
            mine.pop(name, None)
        for asking in self._asking.values():
            asking.discard(name)

    def keep(self, before: Mapping[str, Tap]) -> None:
        """Have the very taps of another loom where they are the same: what was derived from them stays."""
        self.taps |= {name: tap for name, tap in before.items() if self.taps.get(name) == tap}

    def let_go(self) -> None:
        """Let go of feeds that no query reads any more and none comes after."""
        self._drafts.keep(max((+self._readers), default=-1) + 1)

    @property
    def has_idle(self) -> bool:
        """Is there a feed that no query reads?"""
        return len(+self._readers) < len(self._drafts)

    def plan(self) -> StreamPlan:
        """The plan of the queries there are."""
        feeds = self._feeds()
        return StreamPlan(
            stream=self.stream,
            edges=self._cuts.edges(),
            feeds=feeds,
            taps=tuple(self.taps.values()),
            standing=tuple(self._standing.values()),
            guards=tuple(self._guards.values()),
            wanted=self._wanted.expr(),
            columns=tuple(column.name for column in self.stream.columns if column.name in self._columns),
            longest=self._cuts.longest,
            asked=self._asked({key.sql for feed in feeds for key in feed.keys}),
        )

    def _asked(self, keys: Container[str]) -> tuple[str, ...]:
        """The columns of which it is to be found out how many values they have; that of keys is known."""
        found = [column for column, by in self._asking.items() if len(by) >= SEVERAL and column not in keys]
        return tuple(sorted(found, key=lambda column: -len(self._asking[column]))[:SKETCHED])

    def _feeds(self) -> tuple[Feed, ...]:
        """All feeds; if there are several strands, with where each of them is cut."""
        feeds = self._drafts.feeds(lambda: self._known(self._basis))
        if not any(feed.strand for feed in feeds):
            return feeds
        return tuple(replace(feed, edges=self._strands[feed.strand].edges()) for feed in feeds)


class _Wanted:
    """Which rows are asked for: those that any predicate lets pass; all, if a query has none.

    A query that picks by a signature has the rows with its bits, and of these those that pass what is left.
    """

    def __init__(self) -> None:
        self._masks: dict[tuple[Expr | None, Expr | None], set[int]] = {}  # by signature, and what is left
        self._made: Expr | None = None
        self._clean = True

    def add(self, apart: Apart) -> None:
        picked = next((each for each in apart.picked if isinstance(each, PickedBits)), None)
        key, mask = (None, 0) if picked is None else (picked.key, picked.mask)
        masks = self._masks.setdefault((key, apart.rest), set())
        self._clean = self._clean and mask in masks
        masks.add(mask)

    def expr(self) -> Expr | None:
        if not self._clean:
            some = [self._asked(key, rest, masks) for (key, rest), masks in self._masks.items()]
            known = [where for where in some if where is not None]
            self._made = None if len(known) < len(some) else disjunction(known)
            self._clean = True
        return self._made

    @staticmethod
    def _asked(key: Expr | None, rest: Expr | None, masks: set[int]) -> Expr | None:
        covered = [] if key is None else [covering(key, masks)]
        return conjunction([*covered, *([] if rest is None else [rest])])


class _Cuts:
    """Where the time line is cut for all windows."""

    def __init__(self) -> None:
        self._windows: dict[WindowSpec, None] = {}
        self._pairs: set[Pair] = set()
        self._edges: Edges | None = None
        self.longest: Duration = 0

    def add(self, window: WindowSpec) -> None:
        if window not in self._windows:
            self._windows[window] = None
            self.longest = max(self.longest, window.range)
            pairs = pairs_of(window)
            if not pairs <= self._pairs:
                self._pairs |= pairs
                self._edges = None

    def edges(self) -> Edges:
        if self._edges is None:
            self._edges = cut(self._windows)
        return self._edges
