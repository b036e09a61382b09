"""Conditions -> signatures: what queries combine in many ways becomes one key, a bit for each condition.

    q1  WHERE price > 50 AND venue <> 'X'       bit 0  price > 50     q1 picks the groups with bits 0 and 1,
    q2  WHERE venue <> 'X' AND qty % 2 = 0      bit 1  qty % 2 = 0    q2 those with 1 and 2: a row is asked
    q3  WHERE price > 50 AND qty % 2 = 0        bit 2  venue <> 'X'   three things, not one for each query

The key is named by its conditions, `WEFT_SIGNATURE(price > 50, qty % 2 = 0, venue <> 'X')`; a bit is set
where its condition holds, not where it is false or null. A row that no query asks for is no cell, so what a
feed by a signature holds is whole only for masks that some query has: see `engine.held`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from weft.kernels.picks import COVERS, SIGNATURE, HasAll
from weft.lang.expressions import expr
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.share.nodes import StreamPlan

MOST = 62  # bits: a signature is a BIGINT, and never negative
COLUMN = (
    "_weft_b"  # how the columns are called that signatures are evaluated into, before anything reads them
)


@dataclass(frozen=True, slots=True)
class PickedBits:
    """Conditions that are met by picking groups: those whose key has all bits of the mask."""

    key: Expr
    mask: int

    several = True  # the other bits differ
    type = "bigint"

    def pick(self, place: int) -> HasAll:
        return HasAll(place, self.mask)


@dataclass(frozen=True, slots=True)
class Signature:
    """A key, and the bit of each of its conditions, by their text."""

    key: Expr
    bits: Mapping[str, int] = field(compare=False)

    def has(self, conditions: Iterable[Expr]) -> bool:
        return all(condition.sql in self.bits for condition in conditions)

    def picked(self, conditions: Iterable[Expr]) -> PickedBits | None:
        """What is picked for those of the conditions that have a bit; None where none has."""
        mask = sum({1 << self.bits[one.sql] for one in conditions if one.sql in self.bits})
        return PickedBits(self.key, mask) if mask else None


def signature_of(conditions: Iterable[Expr]) -> Signature | None:
    """The signature of these conditions; None where one of them would not be read again as it is."""
    ordered = sorted({condition.sql: condition for condition in conditions}.items())
    key = expr(exp.Anonymous(this=SIGNATURE, expressions=[one.tree.copy() for _, one in ordered]))
    found = read_signature(key.sql)
    return found if list(found.bits) == [text for text, _ in ordered] else None


def is_signature(key: str) -> bool:
    """Is the key, as SQL, a signature?"""
    return key.startswith(f"{SIGNATURE}(")


@lru_cache(maxsize=256)
def read_signature(key: str) -> Signature:
    """The signature that a key names."""
    made = parse_expression(key)
    return Signature(made, {expr(one).sql: bit for bit, one in enumerate(made.tree.expressions)})


def covering(key: Expr, masks: Iterable[int]) -> Expr:
    """Whether a row is asked for by any of those who pick by these masks."""
    numbers = [exp.Literal.number(mask) for mask in least(masks)]
    return expr(exp.Anonymous(this=COVERS, expressions=[key.tree.copy(), *numbers]))


def least(masks: Iterable[int]) -> tuple[int, ...]:
    """The masks that no other of them is part of: whatever has all bits of any has those of one of these."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda each: (each.bit_count(), each)):
        if not any(other & mask == other for other in kept):
            kept.append(mask)
    return tuple(sorted(kept))


def signatures_in(plan: StreamPlan) -> tuple[Signature, ...]:
    """The signatures that level 1 evaluates, each once: keys, and what rows are wanted by.

    A feed that no query reads any more may be gone before its rows are wanted no more.
    """
    keys = [key.sql for root in plan.roots for key in plan.feeds[root].keys if is_signature(key.sql)]
    wanted = [] if plan.wanted is None else _signatures_of(plan.wanted)
    return tuple(read_signature(key) for key in dict.fromkeys([*keys, *wanted]))


@lru_cache(maxsize=64)
def _signatures_of(expression: Expr) -> tuple[str, ...]:
    if SIGNATURE not in expression.sql:
        return ()
    found = (node for node in expression.tree.find_all(exp.Anonymous) if node.name == SIGNATURE)
    return tuple(expr(node).sql for node in found)


def by_columns(expression: Expr, found: Sequence[Signature]) -> Expr:
    """The same, its signatures read from the columns that they have been evaluated into."""
    names = {one.key.sql: f"{COLUMN}{at}" for at, one in enumerate(found)}

    def named(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name == SIGNATURE:
            return exp.column(names[expr(node).sql])
        return node

    return expr(expression.tree.transform(named)) if found else expression
