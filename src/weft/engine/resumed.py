"""What a home says of a program, for those who do not run it: its plan, and whether it is the one there."""

from __future__ import annotations

from weft.engine.epochs import Texts, left_out, recorded, unchanged
from weft.log.catalog import Catalog
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.plan.nodes import Program
from weft.share.build import build
from weft.share.model.forecast import Basis
from weft.share.model.measured import Apart
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


def apart(home: AnyPath, program: Program) -> Apart:
    """How the queries in force there are other ones than those of `program`; failed ones are in both."""
    catalog, texts = Catalog(Home.look(home)), Texts()
    there = {version.name for version in catalog.queries()}
    wanted = {query.name for query in program.queries} - left_out(catalog, program, texts)
    otherwise = (there & wanted) - unchanged(catalog, program, texts).keys()
    return Apart(tuple(sorted(there - wanted)), tuple(sorted(wanted - there)), tuple(sorted(otherwise)))
