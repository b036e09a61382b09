"""Predicted costs as text: by level, against other ways to share, and by query."""

from __future__ import annotations

from collections.abc import Sequence

from weft.share.model.change import BreakEven
from weft.share.model.constants import Constants
from weft.share.model.cost import Cost, Level
from weft.share.model.figures import against, cpu, plain, share
from weft.share.model.forecast import Basis, Forecast, StreamForecast, cost_alone, cost_of
from weft.share.model.load import Load
from weft.share.model.plans import NO_SHARE, SHARED, TRIWEAVE, WEAVE, Way
from weft.share.nodes import SharedPlan, StreamPlan
from weft.share.table import table

TITLE = "what it costs, CPU time for each second of stream"
DEAREST = 5  # queries

_WAYS = {
    NO_SHARE: "each query a job of its own",
    SHARED: "one set of slices for all",
    WEAVE: "groups with slices of their own, each a job that reads all rows",
    TRIWEAVE: "groups fold the finest slices into their own",
}


def show_forecast(found: Forecast) -> str:
    """The costs in EXPLAIN ALL."""
    lines = [TITLE]
    for stream in found.streams:
        lines += _stream(stream, found.constants)
    return "\n".join(lines)


def show_cost_of(plan: SharedPlan, query: str, basis: Basis) -> str:
    """The costs in EXPLAIN name."""
    for stream in plan.streams:
        if query in cost_of(stream, basis).queries:
            return "\n".join(_query(stream, query, basis))
    return ""


def show_load(load: Load, constants: Constants) -> str:
    """`10,000 rows/s and 100 groups assumed, a batch each 1 s; constants as shipped`."""
    rows, groups = f"{plain(load.rows)} rows/s", f"{plain(load.groups)} groups"
    if load.rows_by == load.groups_by:
        bases = f"{rows} and {groups} {load.rows_by}"
    else:
        bases = f"{rows} {load.rows_by}, {groups} {load.groups_by}"
    return f"{bases}, a batch each {plain(load.batch)} s; constants {constants.origin}"


def _stream(found: StreamForecast, constants: Constants) -> list[str]:
    total = found.cost.total
    lines = [f"  {found.stream}: {show_load(found.load, constants)}"]
    rows = [(level.value, cpu(s), share(s, total)) for level, s in found.cost.levels.items()]
    lines += table([*rows, ("total", cpu(total), _cores(total))], indent=4)
    lines += ["  by other ways to share"]
    lines += table([_way(way, found) for way in found.ways], indent=4)
    lines += [f"    {line}" for line in _break_evens(found.break_evens, found.load)]
    if len(found.cost.queries) > 1:
        lines += ["  dearest queries, what is shared split among those who share it"]
        lines += table(_dearest(found.cost), indent=4)
    return lines


def _cores(total: float) -> str:
    if total < 1:
        return f"keeps one core busy for {share(total, 1.0)} of the time"
    return "keeps one core busy" if plain(total) == "1" else f"keeps {plain(total)} cores busy"


def _way(way: Way, found: StreamForecast) -> tuple[str, ...]:
    many = way.groups > 1 and way.name in (WEAVE, TRIWEAVE)
    groups = f", {way.groups} of them" if many else ", best with one" if way.name in (WEAVE, TRIWEAVE) else ""
    beside = "this plan" if way.name == found.runs else against(way.cost, found.cost.total)
    return way.name, cpu(way.cost), beside, _WAYS[way.name] + groups


def _break_evens(found: Sequence[BreakEven], load: Load) -> list[str]:
    if not found:
        few, many = plain(load.rows / 1000), plain(load.rows * 1000)
        return [
            f"no other way wins from {few} to {many} rows/s, nor up to {plain(load.groups * 10_000)} groups"
        ]
    return [_break_even(one, load) for one in found]


def _break_even(found: BreakEven, load: Load) -> str:
    now = load.rows if found.what == "rows" else load.groups
    unit = "rows/s" if found.what == "rows" else "groups"
    side = "above" if found.at > now else "below"
    return f"{found.way.name} would cost less {side} {plain(found.at)} {unit}"


def _dearest(cost: Cost) -> list[tuple[str, ...]]:
    order = sorted(cost.queries, key=lambda name: (-cost.of(name), name))
    return [(name, cpu(cost.of(name)), share(cost.of(name), cost.total)) for name in order[:DEAREST]]


def _query(plan: StreamPlan, query: str, basis: Basis) -> list[str]:
    cost, load = cost_of(plan, basis), basis.loads.of(plan.stream.name)
    mine = cost.of(query)
    lines = [
        f"  costs    {cpu(mine)} CPU time for each second of stream, {share(mine, cost.total)} of the plan"
    ]
    lines[0] += f" ({cpu(cost.total)})"
    if any(tap.query.name == query for tap in plan.taps):
        lines[0] += f"; alone {cpu(cost_alone(plan, query, basis))}"
    lines.append(f"           {show_load(load, basis.constants)}")
    levels = [(Level(level).value, cpu(s)) for level, s in cost.queries[query].items() if s]
    return lines + table(levels, indent=4)
