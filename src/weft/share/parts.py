"""A query's plan taken apart: what sharing needs to know of it, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from weft.errors import Bug
from weft.lang.expressions import expr, place_of, settled
from weft.lang.statements import Expr, WindowSpec
from weft.plan.nodes import Aggregate, Filter, Named, Plan, Project, Query, Related, Scan, Top, Window


@dataclass(frozen=True, slots=True)
class Parts:
    """`Project items <- Top <- Filter having <- Aggregate <- Window + Filter where <- Scan stream`."""

    stream: str
    where: Expr | None
    window: WindowSpec | None
    aggregate: Aggregate | None
    having: Expr | None
    top: Top | None
    items: tuple[Named, ...]


def parts(query: Query) -> Parts:
    """The parts of `query`; without aggregate and window it is a standing filter."""
    if not isinstance(query.plan, Project):
        raise Bug("plan-shape", f"the plan of `{query.name}` does not end in a projection")
    above, aggregate, below = _split(query.plan.source)
    where = [node.predicate for node in below if isinstance(node, Filter)]
    having = [node.predicate for node in above if isinstance(node, Filter)]
    scan = below[-1]
    if not isinstance(scan, Scan):
        raise Bug("plan-shape", f"the plan of `{query.name}` does not read a stream")
    return Parts(
        stream=scan.stream,
        where=conjunction(where),
        window=next((node.window for node in below if isinstance(node, Window)), None),
        aggregate=aggregate,
        having=conjunction(having),
        top=next((node for node in above if isinstance(node, Top)), None),
        items=query.plan.items,
    )


def _split(plan: Plan) -> tuple[list[Plan], Aggregate | None, list[Plan]]:
    """The nodes above the aggregate, the aggregate, the nodes below it; without one all are below."""
    chain: list[Plan] = [plan]
    while not isinstance(chain[-1], Scan | Related):
        chain.append(chain[-1].source)
    for at, node in enumerate(chain):
        if isinstance(node, Aggregate):
            return chain[:at], node, chain[at + 1 :]
    return [], None, chain


def conjuncts(predicate: Expr) -> list[Expr]:
    """The parts that AND joins, in order."""
    tree = predicate.tree
    return [expr(part) for part in tree.flatten()] if isinstance(tree, exp.And) else [predicate]


def conjunction(predicates: list[Expr]) -> Expr | None:
    """All of them, each once; None when there is none."""
    distinct = list(dict.fromkeys(predicates))
    if len(distinct) <= 1:
        return distinct[0] if distinct else None
    return _joined(exp.and_, distinct)


def disjunction(predicates: list[Expr]) -> Expr | None:
    """Any of them, each once; None when there is none."""
    distinct = list(dict.fromkeys(predicates))
    if len(distinct) <= 1:
        return distinct[0] if distinct else None
    return _joined(exp.or_, distinct)


def _joined(by: Callable[..., exp.Expr], predicates: list[Expr]) -> Expr:
    tree = by(*(predicate.tree.copy() for predicate in predicates), copy=False)
    return settled(tree, place_of(tree))
