"""Which queries break level 1? Found by halving, so that the others can go on without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from weft.errors import RunError
from weft.plan.nodes import Program, Query
from weft.share.build import build
from weft.share.nodes import StreamPlan
from weft.spark.complaints import complaint
from weft.spark.level1 import collect, level1, standing
from weft.times import Instant


def culprits(
    batch: DataFrame, program: Program, plan: StreamPlan, now: Instant | None, error: Exception
) -> dict[str, str]:
    """The queries that fail on this batch by themselves, each with the reason.

    Raises when the batch cannot be read even without any query, or when all are well by themselves: then no
    query is at fault, and nothing is taken out of force.
    """
    stream = plan.stream.name
    names = {tap.query.name for tap in plan.taps} | {s.query.name for s in plan.standing}
    queries = [query for query in program.queries if query.name in names]
    unreadable = _failure(batch, program, stream, (), now)
    found = {} if unreadable else _search(batch, program, stream, queries, now)
    if found:  # unless it is Spark that has failed meanwhile, and them with it
        unreadable = _failure(batch, program, stream, (), now)
    if unreadable or not found:
        raise RunError(
            "batch-failed",
            f"a batch of stream `{stream}` could not be processed: {complaint(unreadable or error)}",
            help="see Spark's message; run the program again when its cause is gone: it goes on where it was",
        ) from error
    return found


def _search(
    batch: DataFrame, program: Program, stream: str, queries: Sequence[Query], now: Instant | None
) -> dict[str, str]:
    failure = _failure(batch, program, stream, queries, now)
    if failure is None:
        return {}
    if len(queries) == 1:
        return {queries[0].name: complaint(failure)}
    half = len(queries) // 2
    left = _search(batch, program, stream, queries[:half], now)
    return left | _search(batch, program, stream, queries[half:], now)


def _failure(
    batch: DataFrame, program: Program, stream: str, queries: Sequence[Query], now: Instant | None
) -> Exception | None:
    """What goes wrong when these queries alone are run over the batch."""
    try:
        if not queries:
            batch.count()
        for plan in build(replace(program, queries=tuple(queries))).streams:
            if plan.stream.name == stream:
                collect(level1(batch, plan, now, None))
                if plan.standing:
                    collect(standing(batch, plan, now))
    except Exception as error:  # whatever Spark raises is the finding
        return error
    return None
