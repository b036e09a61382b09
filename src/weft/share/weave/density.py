"""How dense a union of residue classes is, exactly, without ever building their common period.

    {0 mod 4} and {0 mod 6}:  1/4 + 1/6 - 1/12 = 1/3        the period of a thousand slides has 1500 digits

Peel off the class of the smallest modulus; what the rest adds lies outside of it:

    density(all) = density(rest) + 1/s * (1 - density(rest, seen from inside the class mod s))

Classes whose moduli have no common factor are independent: the densities of what they miss multiply.
(Guirguis, chapter 3, counts edges over the composite slide; see docs/design/0011-weaving.md.)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd, prod

from weft.share.slicing import Pair

Classes = frozenset[tuple[int, int]]  # modulus and residue


class TooMany(Exception):
    """The exact answer would take more steps than were allowed."""


class _Budget:
    def __init__(self, steps: int) -> None:
        self.left = steps
        self.known: dict[Classes, float] = {}


def density(pairs: Iterable[Pair], steps: int = 20_000) -> float:
    """Which part of all whole numbers lies in one of the classes; raises TooMany after so many steps."""
    return _density(frozenset((m, r % m) for m, r in pairs), _Budget(steps))


def common(pair: Pair, other: Pair) -> float:
    """Which part of all whole numbers lies in both: they meet once in their common period, or never."""
    (s, a), (t, b) = pair, other
    step = gcd(s, t)
    return 0.0 if (a - b) % step else step / (s * t)


def _density(classes: Classes, budget: _Budget) -> float:
    if any(modulus == 1 for modulus, _ in classes):
        return 1.0
    if classes in budget.known:
        return budget.known[classes]
    budget.left -= 1
    if budget.left < 0:
        raise TooMany
    kept = _without_contained(classes)
    parts = _independent(kept)
    if len(parts) > 1:
        found = reduce(_either, (_density(part, budget) for part in parts))
    else:
        found = _peeled(kept, budget)
    budget.known[classes] = found
    return found


def _peeled(classes: Classes, budget: _Budget) -> float:
    if not classes:
        return 0.0
    first = min(classes)
    rest = classes - {first}
    if not rest:
        return 1.0 / first[0]
    inside = frozenset(seen for other in rest if (seen := _seen_from(first, other)) is not None)
    return _density(rest, budget) + (1.0 - _density(inside, budget)) / first[0]


def _either(one: float, other: float) -> float:
    """How dense the union of two is that do not depend on each other, to the last digit of thin ones."""
    return one + other - one * other


def _seen_from(first: Pair, other: Pair) -> Pair | None:
    """The members of `first`, numbered 0, 1, 2, ...: which of them lie in `other`?"""
    (s, c), (t, a) = first, other
    step = gcd(s, t)
    if (a - c) % step:
        return None
    modulus = t // step
    return modulus, (a - c) // step * pow(s // step, -1, modulus) % modulus if modulus > 1 else 0


def _without_contained(classes: Classes) -> Classes:
    return frozenset(
        (m, r) for m, r in classes if not any(n < m and m % n == 0 and (r - q) % n == 0 for n, q in classes)
    )


def _independent(classes: Classes) -> list[Classes]:
    """Apart by moduli that share no factor."""
    parts: list[tuple[int, set[Pair]]] = []  # the product of moduli, and the classes
    for modulus, residue in classes:
        linked = [part for part in parts if gcd(part[0], modulus) > 1]
        members = {(modulus, residue)}.union(*(part[1] for part in linked))
        parts = [part for part in parts if part not in linked]
        parts.append((modulus * prod(part[0] for part in linked), members))
    return [frozenset(members) for _, members in parts]
