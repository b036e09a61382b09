"""The two halves of a shared plan: the graph of its relations, and all else."""

from __future__ import annotations

from dataclasses import replace

from weft.share.nodes import SharedPlan
from weft.share.relations.weave import Weave, weave
from weft.times import BEGINNING


def woven(plan: SharedPlan) -> Weave:
    """The graph of its relations, as if all queries began together."""
    return weave({each.query.name: (each.relation, BEGINNING) for each in plan.related})


def without_relations(plan: SharedPlan) -> SharedPlan:
    """Without relations, and without the streams that only they read."""
    if not plan.related:
        return plan
    streams = tuple(each for each in plan.streams if each.taps or each.standing)
    saving = replace(plan.saving, queries=plan.saving.queries - len(plan.related))
    return SharedPlan(streams, saving)
