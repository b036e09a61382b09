"""Groups of a bag, and its first rows in some order; both instant by instant."""

from __future__ import annotations

from weft.plan.relations import AsOf, Grouped, Leading
from weft.plan.relationtree import WINDOW, columns
from weft.reference.arguments import arg_names, filter_name, wanted
from weft.reference.script import AT, BORN, LIFE, Script, types_of


def grouped(relation: Grouped, source: str, script: Script) -> str:
    """One row for each group; FIRST and LAST go by when the rows began."""
    window = [column.name for column in WINDOW] if isinstance(relation.source, AsOf) else []
    calls, engine = relation.aggregations, script.engine
    asked = wanted(relation.keys, calls)
    types = types_of(columns(relation.source))
    rows = script.stage(engine.checked(source, ", ".join([AT, BORN, *window]), asked, types))
    by = ", ".join([AT, *window, *(key.name for key in relation.keys)])
    raw = [
        column
        for call in calls
        for column in engine.aggregated(call, arg_names(call), [filter_name(call)] * bool(call.filter), BORN)
    ]
    groups = script.stage(f"SELECT {', '.join([by, *raw])} FROM {rows} GROUP BY {by}")
    return script.anew(engine.finished(groups, by, calls), script.names(relation))


def leading(relation: Leading, source: str, script: Script) -> str:
    """The first rows as of each instant."""
    own = script.names(relation)
    names = {f"_weft_order{number}": key for number, key in enumerate(relation.order)}
    asked = {name: key.expr for name, key in names.items()}
    carried = ", ".join([*LIFE, *own])
    rows = script.stage(script.engine.checked(source, carried, asked, types_of(columns(relation.source))))
    by = [
        f"{name} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for name, key in names.items()
    ]
    by += [f"{name} ASC NULLS FIRST" for name in own]
    rank = f"ROW_NUMBER() OVER (PARTITION BY {AT} ORDER BY {', '.join(by)}) AS _weft_rank"
    ranked = script.stage(f"SELECT {carried}, {rank} FROM {rows}")
    return script.stage(f"SELECT {carried} FROM {ranked} WHERE _weft_rank <= {relation.limit}")
