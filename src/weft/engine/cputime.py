"""CPU-seconds of this process and of all that it has started: Spark's JVM and its workers are among them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

PROC = Path("/proc")


def tree_seconds(root: int | None = None) -> float:
    """CPU-seconds used so far by a process, this one by default, and its descendants.

    A process that was waited for has left its time with its parent. Without /proc only this process and those
    it has waited for are known.
    """
    stats = _stats(PROC.glob("[0-9]*/stat"))
    if not stats:
        return sum(os.times()[:4])
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in stats.items():
        children.setdefault(parent, []).append(pid)
    return _sum(os.getpid() if root is None else root, stats, children) / os.sysconf("SC_CLK_TCK")


def _sum(pid: int, stats: Mapping[int, tuple[int, int]], children: Mapping[int, list[int]]) -> int:
    own = stats[pid][1] if pid in stats else 0
    return own + sum(_sum(child, stats, children) for child in children.get(pid, ()))


def _stats(paths: Iterable[Path]) -> dict[int, tuple[int, int]]:
    """By process: its parent, and the ticks it and those it has waited for have used."""
    found = {}
    for path in paths:
        try:
            text = path.read_text()
        except OSError:  # it has just ended
            continue
        fields = text[text.rindex(")") + 2 :].split()  # its name may hold anything
        found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return found
