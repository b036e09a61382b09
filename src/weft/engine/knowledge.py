"""What a run knows of its streams when it starts again, or queries are added: what plans rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.engine.calibration import constants_of
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.model.measured import StreamMeasured
from weft.share.relations.decided import Decided
from weft.times import SECOND

if TYPE_CHECKING:
    from weft.engine.runtime import Runtime

ENOUGH = 10_000  # rows: fewer tell little


def basis_of(runtime: Runtime) -> Basis:
    """What streams have brought since their first row, those that have brought enough; what work takes."""
    found = {name: _load(runtime, name) for name in runtime.logs if name in runtime.folded}
    loads = {name: load for name, load in found.items() if load is not None}
    return Basis(Loads(loads), constants_of(runtime.home.path))


def decided_by(runtime: Runtime) -> Decided:
    """What a run has decided of its relations, and what it would decide by now."""
    related = {each.query.name: each for each in runtime.plan.related}
    classes = {each.chain: each.classes for each in runtime.relations.graph.chains}
    return Decided(basis_of(runtime), related, classes)


def _load(runtime: Runtime, stream: str) -> Load | None:
    rows = runtime.tally.get("rows", stream)
    if rows < ENOUGH or stream not in runtime.first:
        return None
    return StreamMeasured(
        seconds=(runtime.folded[stream] - runtime.first[stream]) / SECOND,
        rows=rows,
        batches=runtime.tally.get("batches", stream),
        steps=runtime.step_number + 1,
        groups=runtime.groups.get(stream, {}),
        passing=runtime.census.passing(stream),
        distinct=runtime.census.distinct(stream),
        joined=runtime.census.joined(stream),
    ).load()
