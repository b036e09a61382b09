"""GROUPING(x) and GROUPING_ID(): which keys the grouping set of an answer leaves out."""

from __future__ import annotations

from collections.abc import Mapping

from weft.errors import Place, QueryError
from weft.lang.expressions import expr
from weft.plan.calls import name_in, wrong_count
from weft.plan.functions import Call
from weft.plan.groupsets import GROUPING_ID

GROUPING_CALLS = ("grouping", "grouping_id")

Keys = Mapping[str, str]  # by the text of each key in order: `_k0`, `_k1`, ...


def grouping_column(call: Call, keys: Keys, has_sets: bool, at: Place | None) -> str:
    """The column that a call of GROUPING or GROUPING_ID is; raises what is wrong with it."""
    if not has_sets:
        raise QueryError(
            "no-grouping-sets",
            f"`{call.name}` needs ROLLUP, CUBE or GROUPING SETS in GROUP BY",
            at=name_in(at, call.name),
            because="every key is in every answer",
            help="write for instance GROUP BY ROLLUP (a, b), or leave it out",
        )
    if call.distinct or call.filter is not None or call.ignore_nulls:
        raise QueryError(
            "misplaced-clause",
            f"`{call.name}` takes no DISTINCT, FILTER or IGNORE NULLS",
            at=at,
            because="it speaks of the grouping set, not of rows",
            help=f"write {call.name.upper()}({', '.join(expr(arg).sql for arg in call.args)})",
        )
    args = [expr(arg).sql for arg in call.args]
    return _id(args, keys, at) if call.name == "grouping_id" else _bit(args, keys, at)


def _bit(args: list[str], keys: Keys, at: Place | None) -> str:
    if len(args) != 1:
        raise wrong_count("grouping", 1, 1, len(args), at)
    if args[0] not in keys:
        raise QueryError(
            "not-a-key", f"`{args[0]}` is no group key", at=at, because="GROUPING takes one", help=_are(keys)
        )
    return keys[args[0]].replace("_k", "_g")


def _id(args: list[str], keys: Keys, at: Place | None) -> str:
    if args and args != list(keys):
        raise QueryError(
            "not-all-keys",
            "`grouping_id` takes all group keys in their order, or nothing",
            at=at,
            because=f"here they are {', '.join(keys)}" if keys else "here there are none",
            help="write GROUPING_ID(), or GROUPING(x) for a single key",
        )
    return GROUPING_ID


def _are(keys: Keys) -> str:
    return f"the group keys are {', '.join(keys)}" if keys else "there are no group keys"
