"""The relations of all queries as text: chains and their slices, shared nodes, where each row goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from weft.lang.statements import Expr
from weft.plan.relationpatterns import relation_pattern
from weft.plan.relations import Entries, Rows
from weft.plan.relationshow import show_relation_node
from weft.share.model.figures import cpu, plain
from weft.share.model.load import Loads
from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import Spread, bucketing_of
from weft.share.relations.classes import keys_of
from weft.share.relations.cost import Chained, Work, chained, order_of, work_of
from weft.share.relations.links import LEFT, RIGHT, Chain, Link, Wanted
from weft.share.relations.means import Means
from weft.share.relations.program import woven
from weft.share.relations.reasons import holds, reason, valid_to, when
from weft.share.relations.slices import Slice, slices
from weft.share.relations.weave import Key, Node, Weave
from weft.share.table import table
from weft.times import show_duration

_PASSING = (Means.READS, Means.FILTER, Means.COLUMNS, Means.UNION)  # rows are looked at one by one


def show_relations(plan: SharedPlan, loads: Loads) -> str:
    """The relations in EXPLAIN ALL."""
    found = woven(plan)
    count = len(found.tops)
    lines = [f"relations: {_count(count, 'query', 'queries')} over several sources or as of every instant"]
    for at, (chain, links) in enumerate(found.chains_as_written.items()):
        lines += ["", *_chain(f"c{at}", chain, links, loads)]
    lines += ["", "  nodes    equal relations are one node, carried out once"]
    lines += table([_node_row(found, node, loads) for node in found.nodes.values()], indent=4)
    lines += ["", "  queries"]
    names = node_names(found)
    told = [(name, names[top.key], when(top.relation)) for name, top in found.tops.items()]
    lines += table(told, indent=4)
    lines += ["", "  with --placement executors", *_buckets(plan)]
    lines += ["", *_total(found, loads)]
    return "\n".join(lines)


def show_relation_of(plan: SharedPlan, name: str, loads: Loads) -> str:
    """The relation in EXPLAIN name: what carries it out, what it shares, when its answers come."""
    found = woven(plan)
    told, names = found.tops[name], node_names(found)
    lines = [f"{name}: what {names[told.key]} gives", f"  answers  {when(told.relation)}"]
    if (end := valid_to(told.relation)) is not None:
        lines += [f"  valid_to {end}"]
    mine = [node for node in found.nodes.values() if name in node.queries]
    lines += ["  carried out by, from the answer down to the rows"]
    for node in reversed(mine):
        lines += _own(names, node, name)
    for at, (chain, links) in enumerate(found.chains_as_written.items()):
        if any(name in some for some in links.values()):
            lines += _chain(f"c{at}", chain, links, loads, name)
    lines += [f"  with --placement executors: {_place(plan, name)}"]
    if (work := _added(work_of(node, loads) for node in mine)).held:
        lines += [f"  its nodes {_work(work)}"]
    return "\n".join(lines)


def node_names(found: Weave) -> dict[Key, str]:
    """`n0`, `n1`, ... those first that others rest on."""
    return {key: f"n{at}" for at, key in enumerate(found.nodes)}


def show_chain_on(on: Expr | None) -> str:
    """The condition of a chain, its columns by side: `left.id = right.id`."""
    if on is None:
        return "every pair"
    return on.sql.replace(f"`{LEFT}", "left.").replace(f"`{RIGHT}", "right.").replace("`", "")


def _chain(
    name: str, chain: Chain, links: Mapping[Link, tuple[str, ...]], loads: Loads, query: str | None = None
) -> Iterator[str]:
    """A chain; with `query` only what that one reads of it."""
    ours, known = chained(chain, links, Loads()), chained(chain, links, loads)
    queries = {one for each in links.values() for one in each}
    shared = f"{_count(len(links), 'join', 'joins')} of {_count(len(queries), 'query', 'queries')}"
    yield f"  chain {name}: {chain.left} and {chain.right} on {show_chain_on(chain.on)}, {shared}"
    left, right = ({link: link.left for link in links}, {link: link.right for link in links})
    sides = (chain.left, left, ours.left.classes), (chain.right, right, ours.right.classes)
    for stream, wanted, classes in sides:
        yield f"    rows of {stream} are held, for as long as the longest that wants them"
        some = slices(wanted, links, classes)
        yield from table([_slice_row(one) for one in some if query in (None, *one.queries)], indent=6)
    yield from _merging(ours)
    yield "    a pair goes to"
    taps = links.items() if query is None else [each for each in links.items() if query in each[1]]
    yield from table([_tap_row(chain, link, names) for link, names in taps], indent=6)
    yield f"    predicted {_work(known.work)}"
    bases = f"{_load(chain.left, loads)}; {_load(chain.right, loads)}"
    ever = any(each.range is None for link in links for each in (link.left, link.right))
    yield f"      {bases}; half of the rows meet a condition, assumed"
    if ever:
        yield "      rows that are wanted for ever are not in it: there is no end to them"


def _slice_row(one: Slice) -> tuple[str, ...]:
    length = "for ever" if one.range is None else f"for {show_duration(one.range)}"
    conditions = " OR ".join(one.conditions) if one.conditions else "every row"
    return length, conditions, ", ".join(one.queries), f"class {one.at}"


def _merging(ours: Chained) -> Iterator[str]:
    """Why several lengths lie apart, or together; nothing where each side has one."""
    saved = ours.left.apart + ours.right.apart - ours.left.cost - ours.right.cost
    sides = ours.left.classes, ours.right.classes
    if any(len(each) > 1 for classes in sides for each in classes):
        saving = f"{cpu(saved)} CPU time a second at rates assumed"
        yield f"    one class for several lengths saves look-ups: {saving}"
    elif any(len(classes) > 1 for classes in sides):
        yield "    a class for each length: to look at more rows would cost more than to look once more"


def _tap_row(chain: Chain, link: Link, queries: Sequence[str]) -> tuple[str, ...]:
    sides = (chain.left, link.left), (chain.right, link.right)
    ages = " and ".join(f"{stream} {_for(each)}" for stream, each in sides)
    asked = [f"{stream}: {each.where.sql}" for stream, each in sides if each.where is not None]
    return ", ".join(queries), ages, " and ".join(asked)


def _for(wanted: Wanted) -> str:
    return "all time" if wanted.range is None else show_duration(wanted.range)


def _node_row(found: Weave, node: Node, loads: Loads) -> tuple[str, ...]:
    pattern = str(relation_pattern(node.relation))
    why = "" if node.means in _PASSING else reason(node.means)
    return node_names(found)[node.key], _title(found, node, loads), pattern, _whose(node.queries), why


def _title(found: Weave, node: Node, loads: Loads) -> str:
    """What carries the node out, and what over: other nodes, a chain or a stream."""
    names = node_names(found)
    over = ", ".join(names[key] for key in node.sources)
    if node.many is not None:
        best = ", ".join(names[node.sources[at]] for at in order_of(node.many, loads))
        return f"{node.means}: {over}" + (f"; by these rates {best}" if best != over else "")
    if node.link is not None:
        return f"tap of c{list(found.chains).index(node.link.chain)}"
    match node.relation:
        case Rows(stream=stream, items=items, range=range_, where=where):
            length = "for ever" if range_ is None else f"for {show_duration(range_)}"
            columns = ", ".join(item.expr.sql for item in items)
            return f"{stream} ({columns}) {length}{'' if where is None else f' where {where.sql}'}"
        case Entries(table=name):
            return f"{node.means} {name}"
        case _:
            return f"{node.means} of {over}"


def _own(names: Mapping[Key, str], node: Node, query: str) -> Iterator[str]:
    """A node of one query: what it is, then how it is carried out and why."""
    others = [each for each in node.queries if each != query]
    shared = f", shared with {_whose(others)}" if others else ""
    over = f" over {', '.join(names[key] for key in node.sources)}" if node.sources else ""
    pattern = relation_pattern(node.relation)
    yield f"    {names[node.key]}: {show_relation_node(node.relation)}{over}    {pattern}{shared}"
    kept = holds(node.means)
    yield f"      {node.means}: {reason(node.means)}{f'; holds {kept}' if kept else ''}"


def _whose(queries: Sequence[str]) -> str:
    more = f" and {len(queries) - 4} more" if len(queries) > 4 else ""
    return ", ".join(queries[:4]) + more


def _place(plan: SharedPlan, name: str) -> str:
    found = bucketing_of(plan)
    own = (f"in buckets by {_keys(spread)}" for spread in found.spreads if name in spread.queries)
    return next(own, None) or f"in the driver, for {dict(found.stay)[name]}"


def _buckets(plan: SharedPlan) -> list[str]:
    """Which queries lie in buckets, by what, and why others cannot."""
    found = bucketing_of(plan)
    rows = [(f"buckets by {_keys(spread)}", _whose(spread.queries)) for spread in found.spreads]
    stay: dict[str, list[str]] = {}
    for name, why in found.stay:
        stay.setdefault(why, []).append(name)
    return [
        *table(rows, indent=4),
        *(f"    driver for {_whose(names)}: {why}" for why, names in stay.items()),
    ]


def _keys(spread: Spread) -> str:
    """`k of a; id of b`: what says in which bucket a row of each stream lies."""
    return "; ".join(f"{', '.join(keys)} of {stream}" for stream, keys in spread.by)


def _total(found: Weave, loads: Loads) -> list[str]:
    work = [chained(chain, links, loads).work for chain, links in found.chains.items()]
    work += [work_of(node, loads) for node in found.nodes.values()]
    return [f"  all relations {_work(_added(work))}"]


def _added(work: Iterable[Work]) -> Work:
    some = list(work)
    return Work(sum(w.held for w in some), sum(w.lookups for w in some), sum(w.pairs for w in some))


def _work(work: Work) -> str:
    done = f"{plain(work.lookups)} look-ups/s, {plain(work.pairs)} pairs/s"
    return f"{plain(work.held)} rows held, {done}: {cpu(work.cpu)} CPU time a second for these"


def _load(stream: str, loads: Loads) -> str:
    load = loads.of(stream)
    return f"{stream} {plain(load.rows)} rows/s {load.rows_by}, {plain(keys_of(load))} keys {load.groups_by}"


def _count(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
