"""A query over several sources, or over rows of a window as they are: sqlglot's tree -> a Body."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from weft.errors import QueryError
from weft.lang.bodies import Body, Combining, Exists, Output, Picking, SetKind
from weft.lang.dialect import WeftParser
from weft.lang.expressions import PLACE, place_of
from weft.lang.froms import FromReader
from weft.lang.outputs import OUTPUTS, output
from weft.lang.select import check_clauses, taken
from weft.lang.statements import Item
from weft.lang.text import Text
from weft.lang.trees import find, parse_tree, unsupported

_KEPT = frozenset(("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "distinct"))
_KINDS: dict[type[exp.SetOperation], SetKind] = {
    exp.Union: SetKind.UNION,
    exp.Except: SetKind.EXCEPT,
    exp.Intersect: SetKind.INTERSECT,
}
_OF_RESULT = ("order", "limit", "offset")


def body(text: Text, tokens: list[Token]) -> Body:
    """The query that these tokens are."""
    said, rest = output(text, tokens)
    check_clauses(text, rest)
    return _BodyReader(text, rest).body(parse_tree(text, rest, WeftParser.parse_body), said)


class _BodyReader(FromReader):
    """Turns sqlglot's queries into ours."""

    def body(self, tree: exp.Expr, said: Output | None = None) -> Body:
        match tree:
            case exp.Subquery() if not tree.args.get("alias"):
                self._refuse_result(tree)
                return self.body(tree.this, said)
            case exp.SetOperation():
                return self._combining(tree, said)
            case exp.Select():
                return self._picking(tree, said)
            case _:
                at = place_of(tree) or self.text.place_of(self.tokens[0])
                raise QueryError("syntax", "expected SELECT", at=at)

    def _refuse_result(self, tree: exp.Expr) -> None:
        """Raise where ORDER BY or LIMIT stand behind several SELECTs or behind parentheses."""
        for key in _OF_RESULT:
            if tree.args.get(key):
                word = "ORDER BY" if key == "order" else key.upper()
                last = [token for token in self.tokens if token.text.upper() == word][-1:]
                raise unsupported(
                    f"{word} behind a whole UNION, EXCEPT or INTERSECT",
                    self.text.place_of(last[0]) if last else place_of(tree),
                    "put it around: SELECT ... FROM (... UNION ...) AS u ORDER BY ... LIMIT ...",
                )

    def _combining(self, tree: exp.SetOperation, said: Output | None) -> Combining:
        place = tree.meta.get(PLACE)
        self._refuse_result(tree)
        if tree.args.get("with_"):
            self._refuse_with()
        if tree.args.get("by_name") or tree.args.get("side") or tree.args.get("kind"):
            raise unsupported("matching columns by name", place, "write the columns in the same order")
        if said is not None:
            raise QueryError(
                "misplaced-output",
                f"{said.emission.upper()} is about one SELECT, not about several put together",
                at=said.place,
                help=f"put it around: SELECT {said.emission.upper()}(*) FROM (... UNION ...) AS u",
            )
        left, right = self.body(tree.this), self.body(tree.expression)
        return Combining(_KINDS[type(tree)], not tree.args.get("distinct"), left, right, place)

    def _refuse_with(self) -> None:
        at = find(self.text, self.tokens, "WITH")
        raise unsupported("a WITH clause", at, "write a subquery in FROM, or CREATE VIEW")

    def _picking(self, tree: exp.Select, said: Output | None) -> Picking:
        if tree.args.get("with_"):
            self._refuse_with()
        self.refuse_clauses(tree, _KEPT)
        args = tree.args
        rest, exists = self._where(args.get("where"))
        source = self.source(args["from_"].this, args.get("joins") or [])
        for part in _outside(tree):
            self._refuse_nested(part)
        return Picking(
            items=tuple(self._item(item) for item in tree.expressions),
            source=source,
            where=taken(exp.and_(*rest, copy=False)) if rest else None,
            exists=exists,
            group_by=self.group_by(args.get("group")),
            having=taken(args["having"].this) if args.get("having") else None,
            order_by=self.order_by(args.get("order")),
            limit=self.limit(args.get("limit")),
            distinct=self._distinct(args.get("distinct")),
            output=said,
            place=tree.meta.get(PLACE),
        )

    def _distinct(self, tree: exp.Expr | None) -> bool:
        if tree is not None and tree.args.get("on") is not None:
            raise unsupported("DISTINCT ON", find(self.text, self.tokens, "DISTINCT"), "use GROUP BY")
        return tree is not None

    def _item(self, tree: exp.Expr) -> Item:
        for call in tree.find_all(exp.Anonymous):
            if call.name.upper() in OUTPUTS:
                raise QueryError(
                    "misplaced-output",
                    f"{call.name.upper()} stands around the whole list, right after the first SELECT",
                    at=place_of(call),
                    help=f"write CREATE QUERY q AS SELECT {call.name.upper()}(a, b) FROM ...",
                )
        return self.item(tree)

    def _where(self, where: exp.Expr | None) -> tuple[list[exp.Expr], tuple[Exists, ...]]:
        """The conjuncts of WHERE that are about rows, and those that ask whether there are other rows."""
        rest: list[exp.Expr] = []
        exists: list[Exists] = []
        for part in _conjuncts(where.this) if where is not None else ():
            found = self._exists(part)
            if found is not None:
                exists.append(found)
            else:
                self._refuse_nested(part)
                rest.append(part)
        return rest, tuple(exists)

    def _exists(self, tree: exp.Expr) -> Exists | None:
        place = place_of(tree)
        match tree.unnest():
            case exp.Not(this=inner):
                found = self._exists(inner)
                return found and Exists(found.body, not found.negated, found.operand, place)
            case exp.Exists(this=exp.Query() as query):
                return Exists(self.body(query), place=place)
            case exp.In(this=operand, args={"query": exp.Query() as query}):
                if isinstance(operand, exp.Tuple):
                    raise unsupported("IN with several columns", place, "write EXISTS (SELECT ... WHERE ...)")
                self._refuse_nested(operand)
                return Exists(self.body(query), False, taken(operand), place)
            case _:
                return None

    def _refuse_nested(self, tree: exp.Expr) -> None:
        """Raise where an expression has a window function or a query inside."""
        for node in tree.find_all(exp.Window, exp.Query):
            if isinstance(node, exp.Window):
                at = find(self.text, self.tokens, "OVER")
                raise unsupported("OVER", at, "put a window in brackets after the stream")
            raise unsupported(
                "a subquery here", place_of(node),
                "queries stand in FROM, or are conditions of their own in WHERE, joined by AND: "
                "[NOT] EXISTS (SELECT ...), x [NOT] IN (SELECT ...)",
            )  # fmt: skip


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    match tree.unnest():
        case exp.And(this=left, expression=right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield tree


def _outside(tree: exp.Select) -> Iterator[exp.Expr]:
    """The expressions of a SELECT other than WHERE and those in FROM."""
    yield from tree.expressions
    for key in ("group", "having", "order"):
        if tree.args.get(key):
            yield tree.args[key]
