"""Pairs of two bags, and the rows that are in none: joins of all kinds, EXISTS and NOT EXISTS.

Equal rows have equal partners, so a row is told to be in a pair by its values alone.
"""

from __future__ import annotations

from typing import TypeGuard

from weft.errors import Bug
from weft.lang.bodies import JoinKind
from weft.lang.statements import Expr
from weft.plan.relations import Entries, Paired, Relation, Whether
from weft.plan.relationtree import columns
from weft.reference.script import AT, BORN, ENDS, FROM, LIFE, NEVER, TO, Script

_OTHER_BORN, _OTHER_ENDS = "_weft_other_born", "_weft_other_ends"


def is_looked_up(relation: Relation) -> TypeGuard[Entries]:
    """A table of which each row sees what was in force when it began."""
    return isinstance(relation, Entries) and not relation.retroactive


def paired(relation: Paired, left: str, right: str, script: Script) -> str:
    """The bag of a join of two bags; a table that is looked up is given with all its versions."""
    pairs = _pairs(relation.left, left, relation.right, right, relation.on, script)
    born, ends = f"GREATEST({BORN}, {_OTHER_BORN}) AS {BORN}", f"LEAST({ENDS}, {_OTHER_ENDS}) AS {ENDS}"
    parts = [f"SELECT {', '.join([AT, born, ends, *script.names(relation)])} FROM {pairs}"]
    ours, theirs = script.names(relation.left), script.names(relation.right)
    if relation.kind in (JoinKind.LEFT, JoinKind.FULL):
        alone = _matched(relation.left, left, pairs, BORN, script, negated=True)
        nulls = [f"NULL AS {name}" for name in theirs]
        parts.append(f"SELECT {', '.join([*LIFE, *ours, *nulls])} FROM {alone}")
    if relation.kind in (JoinKind.RIGHT, JoinKind.FULL):
        alone = _matched(relation.right, right, pairs, _OTHER_BORN, script, negated=True)
        nulls = [f"NULL AS {name}" for name in ours]
        parts.append(f"SELECT {', '.join([*LIFE, *nulls, *theirs])} FROM {alone}")
    return script.stage(" UNION ALL ".join(parts))


def whether(relation: Whether, source: str, other: str, script: Script) -> str:
    """The bag of the rows of `source` that have a partner, or have none."""
    pairs = _pairs(relation.source, source, relation.other, other, relation.on, script)
    return _matched(relation.source, source, pairs, BORN, script, negated=relation.negated)


def _pairs(left: Relation, ours: str, right: Relation, theirs: str, on: Expr | None, script: Script) -> str:
    """Every two rows that are there at the same time and for which `on` holds, with the lives of both."""
    at, life, other, together = _met(is_looked_up(left), is_looked_up(right))
    shown = [at, *life, *other, *script.names(left, "l"), *script.names(right, "r")]
    every = script.stage(f"SELECT {', '.join(shown)} FROM {ours} l JOIN {theirs} r ON {together}")
    carried = [*LIFE, _OTHER_BORN, _OTHER_ENDS, *script.names(left), *script.names(right)]
    return script.kept(every, carried, on, columns(left) + columns(right))


def _met(left_table: bool, right_table: bool) -> tuple[str, list[str], list[str], str]:
    """How two sides meet: the instant, the lives of both, and the condition."""
    match left_table, right_table:
        case False, False:
            life, other = (
                [f"l.{BORN}", f"l.{ENDS}"],
                [f"r.{BORN} AS {_OTHER_BORN}", f"r.{ENDS} AS {_OTHER_ENDS}"],
            )
            return f"l.{AT}", life, other, f"l.{AT} = r.{AT}"
        case False, True:
            life, other = (
                [f"l.{BORN}", f"l.{ENDS}"],
                [f"l.{BORN} AS {_OTHER_BORN}", f"{NEVER} AS {_OTHER_ENDS}"],
            )
            return f"l.{AT}", life, other, f"r.{FROM} <= l.{BORN} AND l.{BORN} < COALESCE(r.{TO}, {NEVER})"
        case True, False:
            life, other = (
                [f"r.{BORN}", f"{NEVER} AS {ENDS}"],
                [f"r.{BORN} AS {_OTHER_BORN}", f"r.{ENDS} AS {_OTHER_ENDS}"],
            )
            return f"r.{AT}", life, other, f"l.{FROM} <= r.{BORN} AND r.{BORN} < COALESCE(l.{TO}, {NEVER})"
        case _:
            raise Bug(
                "odd-relation", "two tables that are not retroactive have no rows of a stream to be seen by"
            )


def _matched(side: Relation, rows: str, pairs: str, born: str, script: Script, *, negated: bool) -> str:
    """The rows of one side that are among the pairs; negated, those that are not."""
    if is_looked_up(side):
        raise Bug("odd-relation", f"rows of `{side.table}`, which is not retroactive, are never alone")
    own = script.names(side)
    known = script.stage(f"SELECT DISTINCT {', '.join([AT, f'{born} AS {BORN}', *own])} FROM {pairs}")
    same = [f"m.{AT} = s.{AT}", *(f"m.{name} IS NOT DISTINCT FROM s.{name}" for name in [BORN, *own])]
    among = f"{'NOT ' if negated else ''}EXISTS (SELECT 1 FROM {known} m WHERE {' AND '.join(same)})"
    shown = ", ".join(f"s.{name}" for name in [*LIFE, *own])
    return script.stage(f"SELECT {shown} FROM {rows} s WHERE {among}")
