"""A chain as text: which rows it holds for how long, to whom a pair goes, and what that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.lang.statements import Expr
from weft.plan.shownparts import show_for
from weft.share.model.figures import cpu, plain
from weft.share.model.forecast import Basis
from weft.share.model.load import Load
from weft.share.relations.classes import Classes
from weft.share.relations.cost import Chained, Keys, Work, added, chained
from weft.share.relations.decided import Decided
from weft.share.relations.flows import passing
from weft.share.relations.links import LEFT, RIGHT, Chain, Link, Wanted, turned
from weft.share.relations.slices import Slice, slices
from weft.share.table import table
from weft.times import show_duration

Links = Mapping[Link, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Shown:
    """A chain as it runs, or would if it were started now, and the same by what is known now."""

    ours: Chained
    known: Chained


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of relations: what they were decided by, and what is known now.

    `stay`: queries that executors could not carry out, and why.
    """

    decided: Decided
    basis: Basis
    stay: Mapping[str, str]

    def shown(self, chain: Chain, links: Links) -> Shown:
        ours = chained(chain, links, self.decided.basis, self._classes(chain, links))
        known = chained(chain, links, self.basis, (ours.left.classes, ours.right.classes))
        return Shown(ours, known)

    def _classes(self, chain: Chain, links: Links) -> tuple[Classes, Classes] | None:
        """Those it runs with, whichever way round it is told."""
        found, other = (self.decided.classes.get(each) for each in (chain, turned(next(iter(links))).chain))
        return found if found is not None or other is None else (other[1], other[0])


def show_chain(
    name: str, chain: Chain, links: Links, taps: Mapping[Link, str], told: Told, query: str | None = None
) -> Iterator[str]:
    """A chain; with `query` only what that one reads of it. `taps`: the node that takes pairs for a join."""
    both = told.shown(chain, links)
    queries = {one for each in links.values() for one in each}
    shared = f"{count(len(links), 'join', 'joins')} of {count(len(queries), 'query', 'queries')}"
    yield f"  chain {name}: {chain.left} and {chain.right} on {show_chain_on(chain.on)}, {shared}"
    yield from _sides(chain, links, both.ours, query)
    yield from _merging(both, chained(chain, links, told.basis))
    yield "    a pair that is found goes to"
    mine = [link for link, names in links.items() if query in (None, *names)]
    yield from table([_tap_row(chain, link, taps[link], links[link]) for link in mine], indent=6)
    yield from _predicted(chain, links, both.known, told.basis)


def show_chain_on(on: Expr | None) -> str:
    """The condition of a chain, its columns by side: `left.id = right.id`."""
    if on is None:
        return "every pair"
    return on.sql.replace(f"`{LEFT}", "left.").replace(f"`{RIGHT}", "right.").replace("`", "")


def show_work(work: Work, basis: Basis) -> str:
    """`1,200 rows held, 40 look-ups/s, 300 pairs/s: 38 µs CPU time a second`."""
    done = f"{plain(work.held)} rows held, {plain(work.lookups)} look-ups/s, {plain(work.pairs)} pairs/s"
    changes = max(work.changes, work.counted)
    taken = f", {plain(changes)} changes/s" if changes else ""
    return f"{done}{taken}: {cpu(work.cpu(basis.constants))} CPU time a second"


def count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _sides(chain: Chain, links: Links, ours: Chained, query: str | None) -> Iterator[str]:
    left, right = ({link: link.left for link in links}, {link: link.right for link in links})
    sides = (chain.left, left, ours.left.classes), (chain.right, right, ours.right.classes)
    for stream, wanted, classes in sides:
        yield f"    a row of {stream} looks for its partners, and is held for as long as the longest wants it"
        some = [one for one in slices(wanted, links, classes) if query in (None, *one.queries)]
        yield from table([_slice_row(one) for one in some], indent=6)


def _slice_row(one: Slice) -> tuple[str, ...]:
    conditions = f"where {' OR '.join(one.conditions)}" if one.conditions else "every row"
    return show_for(one.range), conditions, f"wanted by {', '.join(one.queries)}", f"class {one.at}"


def _merging(both: Shown, best: Chained) -> Iterator[str]:
    """Why several lengths lie apart, or together; nothing where each side has one."""
    ours = both.ours
    saved = ours.left.apart + ours.right.apart - ours.left.cost - ours.right.cost
    sides = ours.left.classes, ours.right.classes
    if any(len(each) > 1 for classes in sides for each in classes):
        yield f"    one class for several lengths saves look-ups: {cpu(saved)} CPU time a second"
    elif any(len(classes) > 1 for classes in sides):
        yield "    a class for each length: to look at more rows would cost more than to look once more"
    if (best.left.classes, best.right.classes) != sides:
        less = cpu(both.known.cost - best.cost)
        yield f"    by what is known now other classes would save {less}: taken with the next start or join"


def _tap_row(chain: Chain, link: Link, node: str, queries: Sequence[str]) -> tuple[str, ...]:
    sides = (chain.left, link.left), (chain.right, link.right)
    ages = " and ".join(f"{stream} {_for(each)}" for stream, each in sides)
    asked = [f"{stream}: {each.where.sql}" for stream, each in sides if each.where is not None]
    return f"{node} for {', '.join(queries)}", f"in {ages}", " and ".join(asked)


def _for(wanted: Wanted) -> str:
    return "all time" if wanted.range is None else show_duration(wanted.range)


def _predicted(chain: Chain, links: Links, known: Chained, basis: Basis) -> Iterator[str]:
    """What it takes, what it would take for each join by itself, and what that rests on."""
    yield f"    predicted {show_work(known.work, basis)}"
    if len(links) > 1:
        alone = added(chained(chain, [link], basis).work for link in links)
        yield f"    each join by itself {show_work(alone, basis)}"
    loads = zip((chain.left, chain.right), known.keys or (None, None), strict=True)
    said = [_load(stream, keys, basis) for stream, keys in loads]
    yield f"      {'; '.join([*said, *_parts(chain, links, basis)])}"
    if any(each.range is None for link in links for each in (link.left, link.right)):
        yield "      rows that are wanted for ever are not in it: there is no end to them"


def _load(stream: str, keys: Keys | None, basis: Basis) -> str:
    """Rows a second and, where rows are found by them, how many different keys there are."""
    load = basis.loads.of(stream)
    by_keys = "" if keys is None else f", {plain(keys.number)} keys {keys.by}"
    return f"{stream} {plain(load.rows)} rows/s {load.rows_by}{by_keys}"


def _parts(chain: Chain, links: Links, basis: Basis) -> Iterator[str]:
    """Which part of the rows each condition is taken to let pass."""
    sides = [(chain.left, link.left.where) for link in links]
    sides += [(chain.right, link.right.where) for link in links]
    for stream, where in dict.fromkeys(sides):
        if where is not None:
            load: Load = basis.loads.of(stream)
            by = "measured" if where.sql in load.passing else "assumed"
            yield f"{where.sql} holds for {plain(100 * passing(load, where))} % of {stream} {by}"
