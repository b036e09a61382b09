"""Grouping sets: both engines that can judge us have them, and GROUPING, with Spark's meaning."""

from __future__ import annotations

from weft.reference.shape import Shape


def group_by(parts: Shape, end: str, time: str) -> str:
    """The clause that groups the rows placed in windows, told apart by `end`.

    The row of nulls that stands for an empty window is a group of the set () alone: its keys are not null.
    """
    keys = [key.name for key in parts.keys]
    if not parts.sets:
        return f" GROUP BY {', '.join([end, *keys])}"
    sets = (f"({', '.join([end, *(keys[at] for at in each)])})" for each in parts.sets)
    clause = f" GROUP BY GROUPING SETS ({', '.join(sets)})"
    if not parts.emit_empty or not keys:
        return clause
    without_keys = f"{' + '.join(f'GROUPING({key})' for key in keys)} = {len(keys)}"
    return f"{clause} HAVING COUNT({time}) > 0 OR {without_keys}"


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
