"""Where absence stands in the relation of a query: where that costs least, beside all the others.

What others have carried out already costs nothing more, so a query rather takes what is there: a join that
several want is found once, below the absence of one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from weft.plan.relationplacing import places
from weft.plan.relations import Relation
from weft.share.model.forecast import Basis
from weft.share.nodes import Woven
from weft.share.relations.cost import Work, added, chained, work_of
from weft.share.relations.decided import Decided
from weft.share.relations.links import Chain, Link
from weft.share.relations.weave import weave
from weft.times import BEGINNING


@dataclass(frozen=True, slots=True)
class Placed:
    """One way to write the relation: what it does and costs a second, beside what others do anyway."""

    relation: Relation
    work: Work
    cost: float
    shared: int  # nodes that others have


@dataclass(frozen=True, slots=True)
class Placing:
    """All ways that there are, the one that was taken first."""

    ways: tuple[Placed, ...]
    written: Relation

    @property
    def relation(self) -> Relation:
        return self.ways[0].relation


@dataclass(slots=True)
class Others:
    """What is carried out for other queries."""

    nodes: set[Relation] = field(default_factory=set)
    links: dict[Chain, set[Link]] = field(default_factory=dict)

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> Others:
        found = cls()
        for each in relations:
            found.add(each)
        return found

    def add(self, relation: Relation) -> None:
        woven = weave({"": (relation, BEGINNING)})
        self.nodes |= {node.relation for node in woven.nodes.values()}
        for chain, links in woven.chains.items():
            self.links.setdefault(chain, set()).update(links)

    def priced(self, relation: Relation, basis: Basis) -> Placed:
        """What it takes to carry out the relation as well."""
        woven = weave({"": (relation, BEGINNING)})
        new = [node for node in woven.nodes.values() if node.relation not in self.nodes]
        work = [work_of(node, basis.loads) for node in new]
        for chain, links in woven.chains.items():
            known = self.links.get(chain, set())
            both = chained(chain, [*known, *(each for each in links if each not in known)], basis).work
            work.append(both - chained(chain, known, basis).work if known else both)
        total = added(work)
        return Placed(relation, total, total.cpu(basis.constants), len(woven.nodes) - len(new))


def placed(relation: Relation, others: Others, basis: Basis) -> Placing:
    """Where absence is to stand; of equals, as it is written."""
    return _cheapest(relation, places(relation), others, basis)


def _cheapest(relation: Relation, ways: Iterable[Relation], others: Others, basis: Basis) -> Placing:
    priced = [others.priced(way, basis) for way in ways]
    return Placing(tuple(sorted(priced, key=lambda way: way.cost)), relation)


def place(related: Mapping[str, Woven], new: Collection[str], decided: Decided) -> dict[str, Woven]:
    """Those queries of `new` in which absence may stand elsewhere: as was decided, or where it costs least.

    Queries that have no choice come first, then one after the other: what one takes, the next may share.
    """
    found = {name: decided.related[name] for name in new if name in decided.related}
    found = {
        name: replace(related[name], relation=was.relation, placing=was.placing)
        for name, was in found.items()
    }
    listed = {name: places(related[name].relation) for name in new if name not in found}
    free = {name: ways for name, ways in listed.items() if len(ways) > 1}
    known = {**related, **found}
    others = Others.of(each.relation for name, each in known.items() if free and name not in free)
    for name, ways in free.items():
        placing = _cheapest(related[name].relation, ways, others, decided.basis)
        found[name] = replace(related[name], relation=placing.relation, placing=placing)
        others.add(placing.relation)
    return found
