"""Where absence stands, and what it would cost elsewhere: in the words of explain."""

from __future__ import annotations

from collections.abc import Iterator

from weft.plan.relationplacing import joins_below
from weft.share.model.figures import cpu
from weft.share.model.forecast import Basis
from weft.share.relations.placing import Placed, Placing
from weft.share.relations.showchains import show_work
from weft.share.table import table


def show_places(placing: Placing, basis: Basis) -> Iterator[str]:
    """The places that absence has in a query, the one that was taken first, each with what it costs."""
    yield f"  absence  {place_of(placing.ways[0], placing)}: {why(placing)}"
    yield from table([_row(way, placing, basis) for way in placing.ways], indent=4)


def place_in_short(placing: Placing) -> str:
    """`below the join, 81 ms CPU time a second; above the join 2.5 s`."""
    first, *others = placing.ways
    more = "; ".join(f"{place_of(way, placing)} {cpu(way.cost)}" for way in others)
    return f"{place_of(first, placing)}, {cpu(first.cost)} CPU time a second; {more}"


def place_of(way: Placed, placing: Placing) -> str:
    """Where it stands: above how many joins, each absence of several by itself."""
    most = max(max(joins_below(each.relation)) for each in placing.ways)
    return ", ".join(_place(joins, most) for joins in joins_below(way.relation))


def why(placing: Placing) -> str:
    """What makes the first way the cheapest."""
    first, second = placing.ways[:2]
    if first.shared > second.shared:
        return "what other queries have already is not made again"
    if first.work.changes + first.work.counted < second.work.changes + second.work.counted:
        return "fewer rows come and go where it looks, and above it"
    return "more rows come and go, but those below are paired by their windows alone"


def _place(joins: int, most: int) -> str:
    if not joins:
        return "below the join" if most == 1 else "below all joins"
    return "above the join" if most == 1 else f"above {joins} of {most} joins"


def _row(way: Placed, placing: Placing, basis: Basis) -> tuple[str, ...]:
    written = "as written" if way.relation == placing.written else ""
    shared = f"; {way.shared} nodes are there already" if way.shared else ""
    return place_of(way, placing), written, f"{show_work(way.work, basis)}{shared}"
