"""The plan that a program has in its home, for those who do not run it."""

from __future__ import annotations

from weft.engine.epochs import Texts, recorded
from weft.log.catalog import Catalog
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.plan.nodes import Program
from weft.share.build import build
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan


def plan_in(home: AnyPath, program: Program, basis: Basis) -> SharedPlan | None:
    """The one that whoever runs `program` there follows, or would go on with; None: nobody ever did.

    What was decided of queries while they ran is in it; `basis` decides of the others.
    """
    catalog = Catalog(Home.look(home))
    if not catalog.epochs:
        return None
    found = recorded(catalog, program, Texts())
    return build(found.program, found.picks_by, basis, turns=found.turns)
