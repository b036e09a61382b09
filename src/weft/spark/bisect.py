"""Which queries break level 1? Found by halving, so that the others can go on without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from weft.errors import RunError
from weft.plan.nodes import Program, Query
from weft.share.build import build
from weft.share.nodes import StreamPlan
from weft.share.predicates import Hidden
from weft.spark.complaints import complaint
from weft.spark.level1 import collect, level1, standing
from weft.times import Instant


def culprits(
    batch: DataFrame,
    program: Program,
    plan: StreamPlan,
    hidden: Hidden,
    now: Instant | None,
    error: Exception,
) -> dict[str, str]:
    """The queries that fail on this batch by themselves, each with the reason.

    They are tried as they run: `hidden` are the keys that they pick by. Raises when the batch cannot be read
    even without any query, or when all are well by themselves: then no query is at fault, and nothing is
    taken out of force.
    """
    stream = plan.stream.name
    names = {tap.query.name for tap in plan.taps} | {s.query.name for s in plan.standing}
    queries = [query for query in program.queries if query.name in names]
    failure = _Trial(batch, program, stream, hidden, now).failure
    unreadable = failure(())
    found = {} if unreadable else _search(failure, queries)
    if found:  # unless it is Spark that has failed meanwhile, and them with it
        unreadable = failure(())
    if unreadable or not found:
        raise RunError(
            "batch-failed",
            f"a batch of stream `{stream}` could not be processed: {complaint(unreadable or error)}",
            help="see Spark's message; run the program again when its cause is gone: it goes on where it was",
        ) from error
    return found


def _search(
    failing: Callable[[Sequence[Query]], Exception | None], queries: Sequence[Query]
) -> dict[str, str]:
    failure = failing(queries)
    if failure is None:
        return {}
    if len(queries) == 1:
        return {queries[0].name: complaint(failure)}
    half = len(queries) // 2
    return _search(failing, queries[:half]) | _search(failing, queries[half:])


@dataclass(frozen=True, slots=True)
class _Trial:
    """A batch on which some queries of a stream are tried."""

    batch: DataFrame
    program: Program
    stream: str
    hidden: Hidden
    now: Instant | None

    def failure(self, queries: Sequence[Query]) -> Exception | None:
        """What goes wrong when these queries alone are run over the batch."""
        try:
            if not queries:
                self.batch.count()
            for plan in build(replace(self.program, queries=tuple(queries)), self.hidden).streams:
                if plan.stream.name == self.stream:
                    collect(level1(self.batch, plan, self.now, None))
                    if plan.standing:
                        collect(standing(self.batch, plan, self.now))
        except Exception as error:  # whatever Spark raises is the finding
            return error
        return None
