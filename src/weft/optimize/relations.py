"""Relations -> cheaper relations that have the same rows at every instant."""

from __future__ import annotations

from weft.errors import Bug
from weft.optimize.relationcolumns import prune
from weft.optimize.relationfilters import push_conditions
from weft.optimize.relationitems import make_at_leaves, merge_made
from weft.plan.relationcheck import check_relation
from weft.plan.relations import Relation
from weft.plan.relationtree import columns, rewrite_up

_MOST_ROUNDS = 20


def normalise(relation: Relation) -> Relation:
    """Conditions, and columns made of one source, as far down as they can be; nothing that nobody asks for.

    A join written as a comma and a condition gets that condition; subqueries that only pick rows of a stream
    become its leaf.
    """
    before, wanted = relation, columns(relation)
    for _ in range(_MOST_ROUNDS):
        after = push_conditions(before)
        after = rewrite_up(after, merge_made)  # after conditions, which stand between columns that are made
        after = prune(make_at_leaves(after))  # columns last: others free them
        if after == before:
            check_relation(after)
            if columns(after) != wanted:
                raise Bug("unsound-rule", "rules changed the columns of a relation")
            return after
        before = after
    raise Bug("endless-rules", f"the rules did not come to rest in {_MOST_ROUNDS} rounds")
