"""The relations of all queries as plain values, for JSON: the same facts as the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.plan.relationpatterns import relation_pattern
from weft.plan.relationshow import show_relation_node
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import bucketing_of
from weft.share.relations.cost import Work, order_of, work_of
from weft.share.relations.links import Chain, Link, Wanted
from weft.share.relations.placing import Placing
from weft.share.relations.program import woven
from weft.share.relations.reasons import holds, reason, valid_to, when
from weft.share.relations.show import node_names
from weft.share.relations.showchains import Told, show_chain_on
from weft.share.relations.showplaces import place_of, why
from weft.share.relations.slices import slices
from weft.share.relations.weave import Key, Node


def describe_relations(plan: SharedPlan, told: Told) -> dict[str, Any]:
    """Chains, nodes and queries by name, times in microseconds."""
    found = woven(plan)
    names = node_names(found)
    return {
        "chains": [
            {"chain": f"c{at}"} | _chain(chain, links, told)
            for at, (chain, links) in enumerate(found.chains_as_written.items())
        ],
        "nodes": [_node(node, names, told.basis) for node in found.nodes.values()],
        "queries": [
            {
                "query": name,
                "node": names[top.key],
                "answers": when(top.relation),
                "valid_to": valid_to(top.relation),
            }
            for name, top in found.tops.items()
        ],
        "absence": [_placing(each.query.name, each.placing) for each in plan.related if each.placing],
        "on_executors": _buckets(plan, told.stay),
    }


def _buckets(plan: SharedPlan, stay: Mapping[str, str]) -> dict[str, Any]:
    found = bucketing_of(plan, stay)
    spreads = [
        {"queries": list(spread.queries), "by": {stream: list(keys) for stream, keys in spread.by}}
        for spread in found.spreads
    ]
    return {"buckets": spreads, "driver": dict(found.stay)}


def _chain(chain: Chain, links: Mapping[Link, tuple[str, ...]], told: Told) -> dict[str, Any]:
    both = told.shown(chain, links)
    ours = both.ours
    left = {link: link.left for link in links}
    right = {link: link.right for link in links}
    return {
        "left": {"stream": chain.left, "slices": _slices(left, links, ours.left.classes)},
        "right": {"stream": chain.right, "slices": _slices(right, links, ours.right.classes)},
        "on": show_chain_on(chain.on),
        "by_key": ours.keys is not None,
        "joins": [_join(link, queries) for link, queries in links.items()],
        "predicted": _work(both.known.work, told.basis),
    }


def _slices(
    wanted: Mapping[Link, Wanted], links: Mapping[Link, tuple[str, ...]], classes: tuple[tuple[int, ...], ...]
) -> list[dict[str, Any]]:
    return [
        {
            "range_us": one.range,
            "where_any": list(one.conditions),
            "queries": list(one.queries),
            "class": one.at,
        }
        for one in slices(wanted, links, classes)
    ]


def _join(link: Link, queries: tuple[str, ...]) -> dict[str, Any]:
    return {"queries": list(queries), "left": _wanted(link.left), "right": _wanted(link.right)}


def _wanted(wanted: Wanted) -> dict[str, Any]:
    return {"range_us": wanted.range, "where": None if wanted.where is None else wanted.where.sql}


def _node(node: Node, names: Mapping[Key, str], basis: Basis) -> dict[str, Any]:
    loads = basis.loads
    order = None if node.many is None else [names[node.sources[at]] for at in order_of(node.many, loads)]
    return {
        "node": names[node.key],
        "relation": show_relation_node(node.relation),
        "pattern": str(relation_pattern(node.relation)),
        "carried_out_by": str(node.means),
        "because": reason(node.means),
        "holds": holds(node.means) or None,
        "over": [names[key] for key in node.sources],
        "order_by_rates": order,
        "queries": list(node.queries),
        "predicted": _work(work_of(node, loads), basis),
    }


def _placing(query: str, placing: Placing) -> dict[str, Any]:
    """The places of absence in a query, that first which was taken."""
    ways = [
        {
            "place": place_of(way, placing),
            "as_written": way.relation == placing.written,
            "cpu_seconds": way.cost,
            "shared_nodes": way.shared,
        }
        for way in placing.ways
    ]
    return {"query": query, "because": why(placing), "places": ways}


def _work(work: Work, basis: Basis) -> dict[str, float]:
    return {
        "rows_held": work.held,
        "rows_kept_per_second": work.kept,
        "lookups_per_second": work.lookups,
        "pairs_per_second": work.pairs,
        "changes_per_second": work.changes,
        "counted_per_second": work.counted,
        "cpu_seconds": work.cpu(basis.constants),
    }
