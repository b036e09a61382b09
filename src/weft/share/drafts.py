"""The feeds of a stream while they are being collected, by their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation
from weft.share.lattice import Draft, arrange
from weft.share.members import Member, method
from weft.share.model.deriving import pays, saves
from weft.share.model.treatment import Facts
from weft.share.nodes import Feed, Final, Partial, Tap

_Id = tuple[tuple[Expr, ...], int, bool, int]  # keys, how many are inner ones, whether one is extra, strand


class Drafts:
    """Feeds and partials come and go at the end alone: what points at one of them stays right."""

    def __init__(self) -> None:
        self._all: dict[_Id, Draft] = {}
        self._places: dict[_Id, int] = {}
        self._feeds: tuple[Feed, ...] | None = None

    def add(self, member: Member, strand: int = 0) -> Tap:
        """The tap of a query; what it needs is among the feeds afterwards."""
        at, mine = self._own(member, strand)
        finals = []
        present = self._place(mine, member.present)
        for made, call in zip(member.recipes, member.guarded.calls, strict=True):
            feed, draft = (at, mine) if made.extra is None else self._extra(member, made.extra, call, strand)
            found = tuple(self._place(draft, partial) for partial in made.partials)
            finals.append(Final(call.name, call.function, feed, found, method(made), call.type, call.params))
        keys = tuple(None if key is None else mine.keys.index(key) for key in member.seen)
        picks = tuple(each.pick(mine.keys.index(each.key)) for each in member.apart.picked)
        return Tap(member.query, member.window, at, present, keys, tuple(finals), picks)

    def __len__(self) -> int:
        return len(self._all)

    def keep(self, count: int) -> None:
        """Let go of all but so many feeds."""
        while len(self._all) > count:
            self._places.pop(self._all.popitem()[0])
            self._feeds = None

    def feeds(self, known: Callable[[], Facts]) -> tuple[Feed, ...]:
        """All of them, and those made for them; `known`: what it rests on which, asked if some are new."""
        if self._feeds is None:
            facts = known()
            drafts = list(self._all.values())
            self._feeds = arrange(drafts, partial(pays, facts=facts), partial(saves, facts=facts))
        return self._feeds

    def _place(self, draft: Draft, partial: Partial) -> int:
        if partial not in draft.partials:
            self._feeds = None
        return draft.place(partial)

    def _own(self, member: Member, strand: int) -> tuple[int, Draft]:
        """The feed by the keys of a query and those it picks by."""
        typed = dict(zip(member.guarded.keys, member.key_types, strict=True))
        for picked in member.apart.picked:
            typed.setdefault(picked.key, picked.type)
        return self._draft(typed, member.inner, strand)

    def _extra(self, member: Member, extra: Expr, call: Aggregation, strand: int) -> tuple[int, Draft]:
        """The feed with a key more that one aggregate of a query comes from."""
        typed = dict(zip(member.guarded.keys, member.key_types, strict=True))
        extra_type = call.arg_types[0] if call.function == "count_distinct" else None
        return self._draft(typed, frozenset(), strand, (extra, extra_type))

    def _draft(
        self,
        typed: Mapping[Expr, str | None],
        inner: frozenset[Expr],
        strand: int,
        extra: tuple[Expr, str | None] | None = None,
    ) -> tuple[int, Draft]:
        """The feed by these keys, in the one order that serves GROUP BY a, b and GROUP BY b, a alike."""
        ordered = tuple(sorted(typed, key=lambda key: (key in inner, key.sql)))
        types = tuple(typed[key] for key in ordered)
        if extra is not None:
            ordered, types = (*ordered, extra[0]), (*types, extra[1])
        found = (ordered, len(inner), extra is not None, strand)
        if found not in self._all:
            self._feeds = None
            self._places[found] = len(self._all)
            self._all[found] = Draft(ordered, types, extra is not None, len(inner), strand)
        return self._places[found], self._all[found]
