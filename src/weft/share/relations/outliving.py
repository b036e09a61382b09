"""Windows of which only some are INTERNAL: what came out stays until one of the others lets go.

    a [RANGE 10] x JOIN b [RANGE 10 INTERNAL] y        x at 1, y at 9: a pair from 9 on, up to 11
                                                       y leaves its window at 19, and nothing comes of it

A pair is found while both rows are in their windows, as of any other join. When it ends is told by the times
of the rows in external windows, which are carried along as columns of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from weft.errors import Bug
from weft.lang.bodies import SetKind
from weft.lang.expressions import expr
from weft.plan.nodes import Column, Named
from weft.plan.relationpatterns import is_outlived
from weft.plan.relations import Emitted, Ending, Entries, Kept, Made, Merged, Paired, Relation, Rows, Whether
from weft.plan.relationtree import columns
from weft.plan.scope import column
from weft.share.relations.lowering import nulls, same

_END = "_weft_end"  # begins the names of the columns of such times


def outliving(relation: Relation, times: Mapping[str, str]) -> Relation:
    """What is told, with what its ends are told by; `times`: the column of each stream that has its time."""
    if not isinstance(relation, Emitted) or not is_outlived(relation.source):
        return relation
    carrier = _Carrier(times)
    source = carrier.carry(relation.source)
    return replace(relation, source=source, ends=tuple(carrier.ends))


@dataclass(slots=True)
class _Carrier:
    times: Mapping[str, str]
    ends: list[Ending] = field(default_factory=list)

    def carry(self, relation: Relation) -> Relation:
        """The relation with the times of its rows in external windows among its columns."""
        match relation:
            case Rows(range=None) | Rows(internal=True) | Entries():
                return relation
            case Rows(stream=stream, items=items, range=int(range_)):
                ending = Ending(f"{_END}{len(self.ends)}", range_)
                self.ends.append(ending)
                time = Named(ending.name, expr(column(self.times[stream])), "timestamp")
                return replace(relation, items=(*items, time))
            case Kept(source=source) | Whether(source=source):
                return replace(relation, source=self.carry(source))
            case Made(source=source, items=items):
                below = self.carry(source)
                return replace(relation, source=below, items=(*items, *same(_ends(below))))
            case Paired(left=left, right=right):
                return replace(relation, left=self.carry(left), right=self.carry(right))
            case Merged(kind=SetKind.UNION, all=True):
                return self._united(relation)
            case _:
                raise Bug("odd-relation", f"rows of {type(relation).__name__} do not end with windows below")

    def _united(self, relation: Merged) -> Relation:
        """Of rows from one side, nothing of the other lets go."""
        left, right = self.carry(relation.left), self.carry(relation.right)
        ours, theirs = _ends(left), _ends(right)
        mine = (*same(columns(relation.left)), *same(ours), *nulls(theirs))
        others = (*same(columns(relation.right)), *nulls(ours), *same(theirs))
        return replace(relation, left=Made(left, mine), right=Made(right, others))


def _ends(relation: Relation) -> tuple[Column, ...]:
    return tuple(one for one in columns(relation) if one.name.startswith(_END))
