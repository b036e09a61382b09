"""Conditions that differ in their constants alone, as those of a thousand rules do: one pattern, filled in.

    customer = 'a' AND qty > 5     customer = 'b' AND qty > 7         pattern: customer = ? AND qty > ?

What holds of one of them whatever its constants are, holds of all; who works it out asks for the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from sqlglot import exp

from weft.errors import Place
from weft.lang.expressions import PLACE, text_of
from weft.lang.statements import Expr

_MARK = "\ue000"  # a character for private use: in no text that means something


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: the text of a number, or of a string without its quotes."""

    text: str
    is_string: bool

    def tree(self) -> exp.Literal:
        return exp.Literal(this=self.text, is_string=self.is_string)

    @property
    def sql(self) -> str:
        return text_of(self.tree()) if self.is_string else self.text


class Pattern:
    """The expressions that are like one of them but for some of its constants."""

    def __init__(self, like: Expr, places: Sequence[int]) -> None:
        """`places`: which of its literals, in the order in which `literals` gives them."""
        self.like, self.places = like, tuple(places)
        marked = like.tree.copy()
        found = literals(marked)
        for at, place in enumerate(self.places):
            found[place].replace(exp.Literal.number(f"{_MARK}{at}{_MARK}"))
        pieces = text_of(marked).split(_MARK)
        self._between, self._order = pieces[::2], [int(at) for at in pieces[1::2]]

    def fill(
        self,
        constants: Sequence[Constant],
        place: Callable[[], Place | None],
        tree: Callable[[], exp.Expression] | None = None,
    ) -> Filled:
        """The one with these constants; where it stands, and its own tree if it has one, is asked later."""
        tree = tree or partial(self.tree, constants)
        return Filled(self, tuple(constants), self._text(constants), place, tree)

    def _text(self, constants: Sequence[Constant]) -> str:
        ordered = [constants[at].sql for at in self._order]
        return "".join([*chain.from_iterable(zip(self._between, ordered)), self._between[-1]])

    def tree(self, constants: Sequence[Constant]) -> exp.Expression:
        made = self.like.tree.copy()
        found = literals(made)
        for place, constant in zip(self.places, constants, strict=True):
            found[place].replace(constant.tree())
        return made

    def operands(self) -> list[exp.Expr]:
        """What each constant is compared with."""
        found = [literals(self.like.tree)[place] for place in self.places]
        return [_beside(literal) for literal in found]


def pattern_of(like: Expr | None, places: Sequence[Place]) -> Pattern | None:
    """The pattern of an expression whose constants stand at these places; None: not all of them are found."""
    if like is None:
        return None
    at = [node.meta.get(PLACE) for node in literals(like.tree)]
    if not all(at.count(place) == 1 for place in places):
        return None
    return Pattern(like, [at.index(place) for place in places])


class Filled(Expr):
    """An expression of a pattern; its tree is made when it is asked for."""

    __slots__ = ("_find_tree", "_place", "_tree", "constants", "pattern")
    pattern: Pattern
    constants: tuple[Constant, ...]
    _tree: exp.Expression | None
    _find_tree: Callable[[], exp.Expression]
    _place: Callable[[], Place | None]

    def __init__(
        self,
        pattern: Pattern,
        constants: tuple[Constant, ...],
        sql: str,
        place: Callable[[], Place | None],
        tree: Callable[[], exp.Expression],
    ) -> None:
        fields = {"pattern": pattern, "constants": constants, "sql": sql, "_place": place}
        for name, value in (fields | {"_tree": None, "_find_tree": tree}).items():
            object.__setattr__(self, name, value)

    @property
    def tree(self) -> exp.Expression:
        made = self._tree or self._find_tree()
        object.__setattr__(self, "_tree", made)
        return made

    @property
    def place(self) -> Place | None:
        return self._place()

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Expr, (self.sql, self.tree, self.place)


def literals(tree: exp.Expr) -> list[exp.Literal]:
    """The literals of a tree, in an order that trees of the same form have in common."""
    return [node for node in tree.walk(bfs=False) if isinstance(node, exp.Literal)]


def _beside(literal: exp.Literal) -> exp.Expr:
    compared = literal.parent
    assert compared is not None
    other = compared.this if compared.expression is literal else compared.expression
    assert isinstance(other, exp.Expr)
    return other
