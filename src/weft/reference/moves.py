"""From bags as of each instant to what begins and what ends, and the lives in between."""

from __future__ import annotations

from collections.abc import Sequence

from weft.reference.script import AT, Script

WEIGHT, TURN, OVER = "_weft_weight", "_weft_turn", "_weft_over"


def moves(bag: str, instants: str, names: Sequence[str], script: Script) -> str:
    """The differences of the bags as of neighbouring instants: AT, the columns and a WEIGHT that is not 0.

    Before the first instant there was nothing.
    """
    following = script.stage(f"SELECT {AT}, LEAD({AT}) OVER (ORDER BY {AT}) AS {TURN} FROM {instants}")
    shown = ", ".join(names)
    sides = script.stage(
        f"SELECT {', '.join([AT, *names])}, 1 AS {WEIGHT} FROM {bag} UNION ALL "
        f"SELECT {', '.join([f'n.{TURN}', *(f'b.{name}' for name in names)])}, -1 "
        f"FROM {bag} b JOIN {following} n ON b.{AT} = n.{AT} WHERE n.{TURN} IS NOT NULL"
    )
    by = f"{AT}, {shown}" if shown else AT
    total = f"CAST(SUM({WEIGHT}) AS BIGINT)"
    return script.stage(
        f"SELECT {by}, {total} AS {WEIGHT} FROM {sides} GROUP BY {by} HAVING SUM({WEIGHT}) <> 0"
    )


def begun(changed: str, script: Script) -> str:
    """Each row that begins to hold, at its AT; as often as it does."""
    return _repeated(changed, WEIGHT, script)


def ended(changed: str, script: Script) -> str:
    """Each row that ends to hold, at its AT; as often as it does."""
    return _repeated(changed, f"-{WEIGHT}", script)


def lives(changed: str, names: Sequence[str], script: Script) -> str:
    """Each row with its AT and OVER, null if it does not end: what began first ends first."""
    first, last = (
        _numbered(rows, names, script) for rows in (begun(changed, script), ended(changed, script))
    )
    same = [f"b.{TURN} = e.{TURN}", *(f"b.{name} IS NOT DISTINCT FROM e.{name}" for name in names)]
    shown = ", ".join([f"b.{AT}", f"e.{AT} AS {OVER}", *(f"b.{name}" for name in names)])
    return script.stage(f"SELECT {shown} FROM {first} b LEFT JOIN {last} e ON {' AND '.join(same)}")


def _numbered(rows: str, names: Sequence[str], script: Script) -> str:
    equal = f"PARTITION BY {', '.join(names)} " if names else ""
    turn = f"ROW_NUMBER() OVER ({equal}ORDER BY {AT}) AS {TURN}"
    return script.stage(f"SELECT {', '.join([AT, *names, turn])} FROM {rows}")


def _repeated(changed: str, times: str, script: Script) -> str:
    positive = script.stage(f"SELECT * FROM {changed} WHERE {times} > 0")
    return script.stage(script.engine.exploded(positive, "1", times, 1, "_weft_copy"))
