"""The shared plan as text: which queries share what, and what that saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from weft.lang.dialect import Weft
from weft.lang.statements import Expr, WindowSpec
from weft.share.model.figures import counted
from weft.share.model.readers import aggregated, readers
from weft.share.nodes import Edges, Feed, Final, Partial, SharedPlan, Standing, StreamPlan, Tap
from weft.share.parts import parts
from weft.share.picking import is_guard, show_key, show_pick
from weft.share.same import same_as
from weft.share.slicing import least_overlap, overlap
from weft.share.table import table
from weft.share.weave.rates import rate_of
from weft.times import BEGINNING, SECOND, show_duration, show_instant

Names = Mapping[str, str]  # an expression as SQL: what it is called

METHODS = {
    "prefix": "running sums: a window is the difference of two of them",
    "dyadic": "blocks of 1, 2, 4, ... slices: a window is a few of them, nothing is subtracted",
    "ranked": "values ranked among the live ones, then as dyadic",
    "distinct": "one cell per value (or sketch register): a window is their union",
}


def show_shared(plan: SharedPlan) -> str:
    """EXPLAIN ALL."""
    if not plan.streams:
        return "no queries"
    return "\n\n".join(_show_stream(stream) for stream in plan.streams) + "\n\n" + _show_saving(plan)


def show_tap(plan: SharedPlan, name: str) -> str:
    """The shared part of EXPLAIN name."""
    for stream in plan.streams:
        for tap in stream.taps:
            if tap.query.name == name:
                return _show_tap(stream, tap)
        for standing in stream.standing:
            if standing.query.name == name:
                return _show_standing(stream, standing)
    return f"{name}: not in the plan"


def show_window(window: WindowSpec) -> str:
    """`5 min every 10 s`, `1 min` when tumbling."""
    text = show_duration(window.range)
    if window.slide != window.range:
        text += f" every {show_duration(window.slide)}"
    return text + (f" offset {show_duration(window.offset)}" if window.offset else "")


def _show_stream(plan: StreamPlan) -> str:
    name, queries = plan.stream.name, len(plan.taps) + len(plan.standing)
    lines = [f"stream {name}: {queries} {_plural('query', queries)}, each row read once"]
    if plan.taps:
        sketches = sketches_of(plan)
        lines += ["", f"  slices   {_show_edges(plan.edges)}", f"           {plan.edges.reason}"]
        strands = {feed.strand: feed.edges for feed in plan.feeds if feed.edges is not None}
        lines += [
            f"           strand {at} keeps those {_show_edges(own)}" for at, own in sorted(strands.items())
        ]
        lines += ["", "  feeds    partial aggregates by slice and group keys, computed once for all"]
        lines += table([_feed_row(plan, at, sketches) for at in range(len(plan.feeds))], indent=4)
        lines += ["", "  partials made of rows, the feed, and how many queries read each"]
        lines += table(_partial_rows(plan, sketches), indent=4)
        lines += ["", "  windows come out of slices by"]
        lines += table(_method_rows(plan), indent=4)
        lines += ["", "  queries"]
        same = same_as(plan)
        lines += table([_tap_row(plan, tap, same.get(tap.query.name)) for tap in plan.taps], indent=4)
    if plan.standing:
        lines += ["", "  standing filters, answered with the batch that brings the row"]
        lines += table([(s.query.name, _where(s.where) or "every row") for s in plan.standing], indent=4)
    return "\n".join(lines)


def _show_edges(edges: Edges) -> str:
    if edges.combined and edges.grain is not None:
        kept = f"to those at which windows start or end, {_show_rate(edges)}"
        return f"every {show_duration(edges.grain)}, combined {kept}"
    if edges.grain is not None:
        return f"every {show_duration(edges.grain)}, {_show_rate(edges)}"
    pairs = ", ".join(
        f"{show_duration(slide)}" + (f" + {show_duration(phase)}" if phase else "")
        for slide, phase in edges.pairs
    )
    return f"at every {pairs}; {_show_rate(edges)}"


def _show_rate(edges: Edges) -> str:
    rate = rate_of(edges)
    shown = f"{counted(rate.value)} a second"
    return shown if rate.exact else f"about {shown}, by a sample"


def _feed_row(plan: StreamPlan, at: int, sketches: Names) -> tuple[str, ...]:
    feed = plan.feeds[at]
    return (
        f"f{at}",
        f"by {show_keys(feed, sketches)}",
        _show_origin(feed),
        f"{len(feed.partials)} {_plural('partial', len(feed.partials))}",
        show_readers(plan, at),
    )


def show_readers(plan: StreamPlan, at: int) -> str:
    """`2 queries`; of a feed that none reads, what it is made for: `for f0, f2`."""
    if plan.feeds[at].common:
        return "for " + _with_more([f"f{each}" for each in plan.derived(at)])
    readers = sum(at in tap.reads for tap in plan.taps)
    return f"{readers} {_plural('query', readers)}"


def show_keys(feed: Feed, sketches: Names) -> str:
    keys = [show_key(key) for key in feed.keys]
    if feed.extra:
        keys[-1] = f"[{sketches.get(keys[-1], keys[-1])}]"
    return ", ".join(keys) or "nothing (one group)"


def sketches_of(plan: StreamPlan) -> Names:
    """What the expressions of sketches, which no user has written, stand for."""
    names: dict[str, str] = {}
    for tap in plan.taps:
        aggregate = parts(tap.query).aggregate
        calls = {call.name: call for call in aggregate.aggregations} if aggregate else {}
        for final in tap.finals:
            feed, what = plan.feeds[final.feed], calls[final.name].args
            if final.function == "approx_percentile":
                names[feed.keys[-1].sql] = f"value bucket of {what[0].sql}"
            elif final.function == "approx_count_distinct":
                rank = feed.partials[final.partials[1]].arg
                assert rank is not None
                names[feed.keys[-1].sql] = f"sketch register of {what[0].sql}"
                names[rank.sql] = f"hash rank of {what[0].sql}"
    return names


def _partial_rows(plan: StreamPlan, sketches: Names) -> list[tuple[str, ...]]:
    read = Counter(each for tap in plan.taps for each in aggregated(plan, tap))
    return [(_show_partial(each, sketches), f"f{at}", str(count)) for (at, each), count in read.most_common()]


def _method_rows(plan: StreamPlan) -> list[tuple[str, ...]]:
    used = Counter(final.method for tap in plan.taps for final in tap.finals)
    return [
        (method, f"{count} {_plural('aggregate', count)}", METHODS[method])
        for method, count in used.most_common()
    ]


def _tap_row(plan: StreamPlan, tap: Tap, same: str | None) -> tuple[str, ...]:
    where = plan.feeds[tap.feed].partials[tap.present].where
    if same is not None:
        return tap.query.name, show_window(tap.window), f"f{tap.feed}", f"same as {same}", ""
    return (
        tap.query.name,
        show_window(tap.window),
        _with_more([f"f{at}" for at in dict.fromkeys(each.feed for each in tap.sets)]),
        ", ".join(dict.fromkeys(_show_final(final) for final in tap.finals)),
        " ".join(part for part in (_picks(plan, tap), _where(where)) if part),
    )


def show_picks(plan: StreamPlan, tap: Tap) -> str:
    """`customer = 'a'`: which groups of its feed are the query's; empty where all are."""
    shown = [show_pick(pick, plan.feeds[tap.feed].keys[pick.place]) for pick in tap.picks]
    return " AND ".join(shown)


def _picks(plan: StreamPlan, tap: Tap) -> str:
    return f"picks {show_picks(plan, tap)}" if tap.picks else ""


def _show_final(final: Final) -> str:
    return f"{final.function} ({final.method})"


def _where(where: Expr | None) -> str:
    """A predicate as its author wrote it: what keeps failing rows out is only mentioned."""
    if where is None:
        return ""
    conjuncts = list(where.tree.flatten()) if isinstance(where.tree, exp.And) else [where.tree]
    shown = " AND ".join(part.sql(dialect=Weft) for part in conjuncts if not is_guard(part))
    guard = "(rows it fails on left out)" if any(is_guard(part) for part in conjuncts) else ""
    return f"{f'where {shown}' if shown else ''} {guard}".strip()


def _show_partial(partial: Partial, sketches: Names) -> str:
    written = [part.sql for part in (partial.arg, partial.by) if part is not None]
    args = ", ".join(sketches.get(sql, sql) for sql in written) or "*"
    return f"{partial.op}({args}) {_where(partial.where)}".rstrip()


def _show_tap(plan: StreamPlan, tap: Tap) -> str:
    sketches = sketches_of(plan)
    edges = plan.feeds[tap.feed].edges or plan.edges
    slices, windows = counted(round(slices_of(plan, tap))), _show_overlap(tap.window)
    lines = [
        f"{tap.query.name}: {show_window(tap.window)} of {plan.stream.name}",
        f"  slices   {_show_edges(edges)}; a window is about {slices} of them, a row stands in {windows} "
        "and is counted once",
        *_show_feeds(plan, tap, sketches),
        "  shares",
    ]
    lines += table(
        [(_show_partial(each, sketches), f"f{at}", _with(names)) for at, each, names in shared(plan, tap)],
        indent=4,
    )
    if tap.picks:
        lines.append(f"  {_picks(plan, tap)}: by keys of the feed, so that no row is asked for it")
    lines += _show_earlier(plan, tap, sketches)
    if (same := same_as(plan).get(tap.query.name)) is not None:
        lines.append(f"  same as {same}: answered once for both")
    lines.append("  finals")
    lines += table([(f.name, f.function, f.method, METHODS[f.method]) for f in tap.finals], indent=4)
    return "\n".join(lines)


def slices_of(plan: StreamPlan, tap: Tap) -> float:
    """Of how many slices a window of the query is, on the average; of one at least."""
    edges = plan.feeds[tap.feed].edges or plan.edges
    return max(1.0, tap.window.range / SECOND * rate_of(edges).value)


def _show_overlap(window: WindowSpec) -> str:
    """`60 windows`, `2 to 3 windows`, `0 to 1 windows` where there are gaps between them."""
    least, most = least_overlap(window), overlap(window)
    if least == most:
        return f"{counted(most)} {_plural('window', most)}"
    return f"{counted(least)} to {counted(most)} windows"


def shared(plan: StreamPlan, tap: Tap) -> list[tuple[int, Partial, list[str]]]:
    """What is made of rows for a query: each partial with its feed, and the other queries it is made for."""
    users = readers(plan).partials
    mine = sorted(aggregated(plan, tap), key=lambda each: (each[1].text, each[0]))
    return [(*each, [name for name in users[each] if name != tap.query.name]) for each in mine]


def _show_earlier(plan: StreamPlan, tap: Tap, sketches: Names) -> list[str]:
    """Since when it is treated as it is, and what answers windows from before."""
    if tap.after == BEGINNING:
        return []
    lines = [f"  switched to that in windows that start after {show_instant(tap.after)}"]
    if tap.earlier is not None:
        feed = _show_feed(plan, tap.earlier.feed, sketches)
        picks = _picks(plan, tap.earlier) or "rows asked"
        lines.append(f"    those before are still to be answered, from {feed}; {picks}")
    return lines


def _show_feeds(plan: StreamPlan, tap: Tap, sketches: Names) -> list[str]:
    """The feed of the query, or a line for each of its grouping sets."""
    sets = show_sets(tap)
    if not sets:
        return [f"  feed     {_show_feed(plan, tap.feed, sketches)}"]
    rows = [(keys, _show_feed(plan, at, sketches)) for keys, at in sets]
    return ["  sets     a row counts in each of them", *table(rows, indent=4)]


def show_sets(tap: Tap) -> list[tuple[str, int]]:
    """The grouping sets of a query as text, `(city, day)`, each with its feed; none if it just groups."""
    aggregate = parts(tap.query).aggregate
    if aggregate is None or not aggregate.sets:
        return []
    keys = [key.expr.sql for key in aggregate.keys]
    texts = (", ".join(keys[at] for at in each) for each in aggregate.sets)
    return [(f"({text})", each.feed) for text, each in zip(texts, tap.sets, strict=True)]


def _show_feed(plan: StreamPlan, at: int, sketches: Names) -> str:
    feed = plan.feeds[at]
    return f"f{at} by {show_keys(feed, sketches)}, {_show_origin(feed)}"


def _show_origin(feed: Feed) -> str:
    origin = "from rows" if feed.parent is None else f"combined from f{feed.parent}"
    return origin if feed.edges is None else f"{origin}, cut for strand {feed.strand}"


def _with(others: list[str]) -> str:
    return f"shared with {len(others)}: {_with_more(others)}" if others else "this query alone"


def _with_more(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _show_standing(plan: StreamPlan, standing: Standing) -> str:
    return f"{standing.query.name}: every row of {plan.stream.name} {_where(standing.where)}".rstrip()


def _show_saving(plan: SharedPlan) -> str:
    saving = plan.saving
    partials = (
        "partial aggregates",
        f"{counted(saving.partials_shared)} computed",
        f"{counted(saving.partials_apart)} if each query kept its own",
        _times(saving.partials_apart, saving.partials_shared),
    )
    updates = (
        "updates per row",
        f"{counted(round(saving.row_updates_shared))} shared",
        f"{counted(round(saving.row_updates_apart))} if each query ran window() by itself",
        _times(saving.row_updates_apart, saving.row_updates_shared),
    )
    title = f"what sharing saves, {saving.queries} {_plural('query', saving.queries)}"
    return "\n".join([title, *table([partials, updates], indent=2)])


def _times(apart: float, shared: float) -> str:
    if not shared:
        return ""
    ratio = apart / shared
    return f"{counted(ratio) if ratio >= 1000 else f'{ratio:.1f}'} times less"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else "queries" if word == "query" else word + "s"
