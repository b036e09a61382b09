"""The relations of all queries as text: where a row goes, chains and their slices, shared nodes, answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.plan.relationpatterns import relation_pattern
from weft.plan.relations import Rows
from weft.plan.relationshow import show_relation_node
from weft.share.model.figures import cpu, plain
from weft.share.model.load import Loads
from weft.share.nodes import SharedPlan
from weft.share.relations.cost import added, order_of, work_of
from weft.share.relations.links import Chain, Link, turned
from weft.share.relations.means import Means
from weft.share.relations.program import woven
from weft.share.relations.reasons import holds, reason, valid_to, when
from weft.share.relations.showbuckets import shortened, show_bucket, show_buckets
from weft.share.relations.showchains import Told, count, show_chain, show_work
from weft.share.relations.showplaces import place_in_short, show_places
from weft.share.relations.titles import title
from weft.share.relations.weave import Key, Node, Weave
from weft.share.table import table


def show_relations(plan: SharedPlan, told: Told) -> str:
    """The relations in EXPLAIN ALL."""
    found = woven(plan)
    number = len(found.tops)
    lines = [f"relations: {count(number, 'query', 'queries')} over several sources or as of every instant"]
    lines += ["", "  a row of a stream goes to", *table(_entries(plan, found), indent=4)]
    taps = tap_names(found)
    for at, (chain, links) in enumerate(found.chains_as_written.items()):
        lines += ["", *show_chain(f"c{at}", chain, links, taps, told)]
    lines += ["", "  nodes    equal relations are one node, carried out once; what it makes goes to others"]
    shown = _Shown.of(found)
    lines += table([_HEADER, *(shown.row(node, told) for node in found.nodes.values())], indent=4)
    placed = [(each.query.name, place_in_short(each.placing)) for each in plan.related if each.placing]
    if placed:
        lines += ["", "  absence stands where that costs least", *table(placed, indent=4)]
    lines += ["", "  queries    are told what their node makes"]
    answers = [(name, shown.names[top.key], when(top.relation)) for name, top in found.tops.items()]
    lines += [*table(answers, indent=4), "", "  with --placement executors", *show_buckets(plan, told.stay)]
    lines += ["", *_total(found, told)]
    return "\n".join(lines)


def show_relation_of(plan: SharedPlan, name: str, told: Told) -> str:
    """The relation in EXPLAIN name: what carries it out, what it shares, when its answers come."""
    found = woven(plan)
    top, names = found.tops[name], node_names(found)
    lines = [f"{name}: what {names[top.key]} gives", f"  answers  {when(top.relation)}"]
    if (end := valid_to(top.relation)) is not None:
        lines += [f"  valid_to {end}"]
    placing = next((each.placing for each in plan.related if each.query.name == name), None)
    if placing is not None:
        lines += show_places(placing, told.decided.basis)
    mine = [node for node in found.nodes.values() if name in node.queries]
    lines += ["  carried out by, from the answer down to the rows"]
    for node in reversed(mine):
        lines += _own(names, node, name)
    taps = tap_names(found)
    for at, (chain, links) in enumerate(found.chains_as_written.items()):
        if any(name in some for some in links.values()):
            lines += show_chain(f"c{at}", chain, links, taps, told, name)
    lines += [f"  with --placement executors: {show_bucket(plan, name, told.stay)}"]
    if (work := added(work_of(node, told.basis.loads) for node in mine)).held:
        lines += [f"  its nodes {show_work(work, told.basis)}"]
    return "\n".join(lines)


def node_names(found: Weave) -> dict[Key, str]:
    """`n0`, `n1`, ... those first that others rest on."""
    return {key: f"n{at}" for at, key in enumerate(found.nodes)}


def tap_names(found: Weave) -> dict[Link, str]:
    """The node that takes the pairs of each join of a chain, whichever way round it is told."""
    names = node_names(found)
    taps = {node.link: names[key] for key, node in found.nodes.items() if node.link is not None}
    return taps | {turned(link): name for link, name in taps.items()}


def _entries(plan: SharedPlan, found: Weave) -> list[tuple[str, ...]]:
    """For each stream which rows are taken in, and where they go first."""
    names, chains = node_names(found), found.chains
    rows: list[tuple[str, ...]] = []
    for each in plan.streams:
        if each.intake is None:
            continue
        name, where = each.stream.name, each.intake.where
        at = [f"c{at}" for at, chain in enumerate(chains) if name in (chain.left, chain.right)]
        at += [names[key] for key in found.nodes if isinstance(key[0], Rows) and key[0].stream == name]
        rows.append((name, "every row" if where is None else f"where {where.sql}", ", ".join(at)))
    return rows


_HEADER = ("node", "what it is", "pattern", "goes to", "for", "predicted", "carried out by, and why")


@dataclass(frozen=True, slots=True)
class _Shown:
    """The names of all nodes, and for each the nodes that rest on it and the queries that are told of it."""

    names: Mapping[Key, str]
    goes_to: Mapping[str, Sequence[str]]
    chains: Mapping[Chain, str]

    @classmethod
    def of(cls, found: Weave) -> _Shown:
        names = node_names(found)
        goes_to: dict[str, list[str]] = {name: [] for name in names.values()}
        for key, node in found.nodes.items():
            for source in dict.fromkeys(node.sources):
                goes_to[names[source]].append(names[key])
        for name, top in found.tops.items():
            goes_to[names[top.key]].append(name)
        chains = {chain: f"c{at}" for at, chain in enumerate(found.chains)}
        return cls(names, goes_to, chains)

    def row(self, node: Node, told: Told) -> tuple[str, ...]:
        work, name = work_of(node, told.basis.loads), self.names[node.key]
        held = f"{plain(work.held)} held" if work.held else ""
        spent = cpu(seconds) if (seconds := work.cpu(told.basis.constants)) else ""
        return (
            name,
            self.title(node, told.basis.loads),
            str(relation_pattern(node.relation)),
            ", ".join(self.goes_to[name]),
            shortened(node.queries),
            ", ".join(each for each in (held, spent) if each),
            _why(node.means),
        )

    def title(self, node: Node, loads: Loads) -> str:
        """What the node is, and what it is made of: other nodes, a chain or a stream."""
        over = tuple(self.names[key] for key in node.sources)
        if node.many is not None:
            best = tuple(over[at] for at in order_of(node.many, loads))
            order = f"; by these rates {', '.join(best)}" if best != over else ""
            return f"joined: {', '.join(over)}{order}"
        if node.link is not None:
            return f"tap of {self.chains[node.link.chain]}"
        return title(node.relation, over)


def _why(means: Means) -> str:
    match means:
        case Means.READS | Means.FILTER | Means.COLUMNS | Means.UNION:  # rows are looked at one by one
            return ""
        case Means.TAP:
            return reason(means)
        case _:
            return f"{means}: {reason(means)}"


def _own(names: Mapping[Key, str], node: Node, query: str) -> Iterator[str]:
    """A node of one query: what it is, then how it is carried out and why."""
    others = [each for each in node.queries if each != query]
    shared = f", shared with {shortened(others)}" if others else ""
    over = f" over {', '.join(names[key] for key in node.sources)}" if node.sources else ""
    pattern = relation_pattern(node.relation)
    yield f"    {names[node.key]}: {show_relation_node(node.relation)}{over}    {pattern}{shared}"
    kept = holds(node.means)
    yield f"      {node.means}: {reason(node.means)}{f'; holds {kept}' if kept else ''}"


def _total(found: Weave, told: Told) -> list[str]:
    work = [told.shown(chain, links).known.work for chain, links in found.chains.items()]
    work += [work_of(node, told.basis.loads) for node in found.nodes.values()]
    return [f"  all relations {show_work(added(work), told.basis)}"]
