"""GROUP BY: sqlglot's tree -> keys and groupings, as trees of expressions.

GROUP BY a, ROLLUP (b, c)      two expressions, the second a tree of class Rollup
GROUP BY a, b WITH ROLLUP      one: ROLLUP (a, b), which is what it means
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from weft.errors import QueryError
from weft.lang.expressions import PLACE, place_of
from weft.lang.text import Text
from weft.lang.trees import find, unsupported

GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def group_keys(group: exp.Expr, text: Text, tokens: list[Token]) -> list[exp.Expr]:
    """The keys and groupings of a GROUP BY, whose tokens these are; raises what is wrong with it."""
    _refuse(group, text, tokens)
    after_with = [*group.args.get("rollup", ()), *group.args.get("cube", ())]
    if after_with:
        return [_with(after_with[0], group.expressions, text, tokens)]
    keys = [_plain(key) for key in group.expressions]
    for key in keys:
        _check_parts(key)
    return keys


def _refuse(group: exp.Expr, text: Text, tokens: list[Token]) -> None:
    if group.args.get("all") is not None:
        word = "ALL" if group.args["all"] else "DISTINCT"
        raise unsupported(f"GROUP BY {word}", find(text, tokens, word), "name the group keys")
    if group.args.get("totals"):
        raise unsupported("GROUP BY TOTALS", find(text, tokens, "TOTALS"), "write GROUP BY ROLLUP (a, b)")
    if group.args.get("grouping_sets"):
        raise unsupported(
            "GROUPING SETS right after group keys", find(text, tokens, "GROUPING SETS"),
            "name the keys in the sets alone: GROUP BY GROUPING SETS ((a, b), (a)); keys of all sets stand "
            "before a comma: GROUP BY a, GROUPING SETS ((b), ())",
        )  # fmt: skip
    if not group.expressions:
        at = find(text, tokens, "GROUP BY")
        raise QueryError("syntax", "GROUP BY names no keys", at=at, help="write GROUP BY symbol")


def _with(empty: exp.Expr, keys: list[exp.Expr], text: Text, tokens: list[Token]) -> exp.Expr:
    """`a, b WITH ROLLUP` as ROLLUP (a, b)."""
    word = type(empty).__name__.upper()
    for key in keys:
        if isinstance(key, (*GROUPINGS, exp.Tuple)):
            raise QueryError(
                "bad-grouping", f"WITH {word} takes plain group keys before it", at=place_of(key),
                help=f"write GROUP BY {word} (a, b); of several groupings every combination is made",
            )  # fmt: skip
    made = type(empty)(expressions=[_plain(key) for key in keys])
    made.meta[PLACE] = find(text, tokens, word)
    return made


def _plain(tree: exp.Expr) -> exp.Expr:
    """The tree of a grouping without parentheses around single keys, which say nothing."""
    if isinstance(tree, GROUPINGS):
        tree.set("expressions", [_plain(part) for part in tree.expressions])
    return tree.unnest() if isinstance(tree, exp.Paren) else tree


def _check_parts(tree: exp.Expr) -> None:
    """Raise where a key has several parts."""
    for key in _keys(tree):
        if isinstance(key, exp.Tuple):
            names = ", ".join(part.sql() for part in key.expressions)
            before = "" if isinstance(tree, GROUPINGS) else "GROUP BY "
            help = f"write {before}{names}" if names else "name a key, or leave GROUP BY out"
            raise unsupported("a group key of several parts", place_of(key) or place_of(tree), help)


def _keys(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What stands where a single key does."""
    if not isinstance(tree, GROUPINGS):
        yield tree
        return
    for part in tree.expressions:
        match part:
            case exp.Rollup() | exp.Cube() | exp.GroupingSets():
                yield from _keys(part)
            case exp.Tuple():
                yield from part.expressions
            case _:
                yield part
