"""The relations of all queries as plain values, for JSON: the same facts as the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.plan.relationpatterns import relation_pattern
from weft.plan.relationshow import show_relation_node
from weft.share.model.load import Loads
from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import bucketing_of
from weft.share.relations.cost import Work, chained, order_of, work_of
from weft.share.relations.links import Chain, Link, Wanted
from weft.share.relations.program import woven
from weft.share.relations.reasons import holds, reason, valid_to, when
from weft.share.relations.show import node_names, show_chain_on
from weft.share.relations.slices import slices
from weft.share.relations.weave import Key, Node


def describe_relations(plan: SharedPlan, loads: Loads) -> dict[str, Any]:
    """Chains, nodes and queries by name, times in microseconds."""
    found = woven(plan)
    names = node_names(found)
    return {
        "chains": [
            {"chain": f"c{at}"} | _chain(chain, links, loads)
            for at, (chain, links) in enumerate(found.chains_as_written.items())
        ],
        "nodes": [_node(node, names, loads) for node in found.nodes.values()],
        "queries": [
            {
                "query": name,
                "node": names[told.key],
                "answers": when(told.relation),
                "valid_to": valid_to(told.relation),
            }
            for name, told in found.tops.items()
        ],
        "on_executors": _buckets(plan),
    }


def _buckets(plan: SharedPlan) -> dict[str, Any]:
    found = bucketing_of(plan)
    spreads = [
        {"queries": list(spread.queries), "by": {stream: list(keys) for stream, keys in spread.by}}
        for spread in found.spreads
    ]
    return {"buckets": spreads, "driver": dict(found.stay)}


def _chain(chain: Chain, links: Mapping[Link, tuple[str, ...]], loads: Loads) -> dict[str, Any]:
    ours, known = chained(chain, links, Loads()), chained(chain, links, loads)
    left = {link: link.left for link in links}
    right = {link: link.right for link in links}
    return {
        "left": {"stream": chain.left, "slices": _slices(left, links, ours.left.classes)},
        "right": {"stream": chain.right, "slices": _slices(right, links, ours.right.classes)},
        "on": show_chain_on(chain.on),
        "by_key": ours.keyed,
        "joins": [_join(link, queries) for link, queries in links.items()],
        "predicted": _work(known.work),
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


def _node(node: Node, names: Mapping[Key, str], loads: Loads) -> dict[str, Any]:
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
        "predicted": _work(work_of(node, loads)),
    }


def _work(work: Work) -> dict[str, float]:
    return {
        "rows_held": work.held,
        "lookups_per_second": work.lookups,
        "pairs_per_second": work.pairs,
        "cpu_seconds": work.cpu,
    }
