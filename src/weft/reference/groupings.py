"""Grouping sets: both engines that can judge us have them, and GROUPING, with Spark's meaning."""

from __future__ import annotations

from weft.reference.shape import Shape

HELD = "_weft_held"  # how many rows of the window the group holds


def group_by(parts: Shape, end: str) -> str:
    """The clause that groups the rows placed in windows, told apart by `end`."""
    keys = [key.name for key in parts.keys]
    if not parts.sets:
        return f" GROUP BY {', '.join([end, *keys])}"
    sets = (f"({', '.join([end, *(keys[at] for at in each)])})" for each in parts.sets)
    return f" GROUP BY GROUPING SETS ({', '.join(sets)})"


def held(parts: Shape, time: str) -> list[str]:
    """The column that `filled` asks for."""
    return [f"COUNT({time}) AS {HELD}"] if _may_be_hollow(parts) else []


def filled(parts: Shape, groups: str) -> str | None:
    """The groups without those that only the row of nulls of an empty window is in; None: there are none.

    That row is a group of the set () alone: its keys are not null. This is no HAVING, in which Spark knows no
    GROUPING where a set is named twice.
    """
    if not _may_be_hollow(parts):
        return None
    return f"SELECT * FROM {groups} WHERE {HELD} > 0 OR _gid = {(1 << len(parts.keys)) - 1}"


def _may_be_hollow(parts: Shape) -> bool:
    return bool(parts.sets and parts.keys) and parts.emit_empty


def groupings(parts: Shape) -> list[str]:
    """GROUPING of every key, and GROUPING_ID, as columns of the same SELECT."""
    if not parts.sets:
        return []
    count = len(parts.keys)
    bits = [f"GROUPING({key.name})" for key in parts.keys]
    made = [f"CAST({bit} AS TINYINT) AS _g{at}" for at, bit in enumerate(bits)]
    sum_of_bits = " + ".join(f"{1 << (count - 1 - at)} * {bit}" for at, bit in enumerate(bits)) or "0"
    return [*made, f"CAST({sum_of_bits} AS BIGINT) AS _gid"]


def grouping_types(parts: Shape) -> dict[str, str | None]:
    """The names of these columns, and their types."""
    if not parts.sets:
        return {}
    return {**{f"_g{at}": "tinyint" for at in range(len(parts.keys))}, "_gid": "bigint"}
