"""FROM: names with windows, subqueries and joins, as they are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from sqlglot import exp

from weft.errors import QueryError
from weft.lang.bodies import Body, From, FromBody, FromJoin, FromName, JoinKind
from weft.lang.expressions import PLACE, place_of
from weft.lang.select import Reader, taken
from weft.lang.sourceparser import COMMA, NONRETROACTIVE, WINDOW
from weft.lang.statements import Expr
from weft.lang.trees import find, unsupported

_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}
_JOINS = "JOIN, CROSS JOIN, LEFT, RIGHT and FULL JOIN, LEFT SEMI JOIN, LEFT ANTI JOIN"


class FromReader(Reader):
    """Reads sources; subqueries are read by those who know what a query is."""

    @abstractmethod
    def body(self, tree: exp.Expr) -> Body: ...

    def source(self, first: exp.Expr, joins: Sequence[exp.Expr]) -> From:
        """The first source and what is joined to it."""
        return self._joined(self._one(first), joins)

    def _joined(self, first: From, joins: Sequence[exp.Expr]) -> From:
        """A comma binds less than a JOIN."""
        groups = [first]
        for join in joins:
            right = self._one(join.this)
            if join.meta.get(COMMA):
                groups.append(right)
            else:
                groups[-1] = self._join(join, groups[-1], right)
        found = groups[0]
        for other in groups[1:]:
            found = FromJoin(JoinKind.INNER, found, other, place=other.place)
        return found

    def _one(self, tree: exp.Expr) -> From:
        """One source, with what was joined to it before its own ON: `t JOIN u JOIN v ON ... ON ...`."""
        return self._joined(self._alone(tree), tree.args.get("joins") or ())

    def _alone(self, tree: exp.Expr) -> From:
        alias = tree.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            at = place_of(alias)
            raise unsupported("a list of names behind an alias", at, "name the columns in the SELECT")
        name, window = alias.name if alias is not None else None, tree.meta.get(WINDOW)
        match tree:
            case exp.Subquery(this=exp.Table() | exp.Subquery() as inner) if not _is_query(inner):
                self._refuse_around_join(tree, name)
                return self._one(inner)
            case exp.Subquery(this=query) | (exp.Query() as query):
                self._refuse_after(tree)
                return FromBody(self.body(query), window, name, place_of(tree))
            case _:
                self.refuse_source(tree)
                return FromName(tree.name, window, name, tree.meta.get(NONRETROACTIVE), place_of(tree))

    def _refuse_around_join(self, tree: exp.Expr, alias: str | None) -> None:
        if alias is not None or tree.meta.get(WINDOW) is not None:
            raise unsupported(
                "a name or a window behind a join in parentheses", place_of(tree),
                "write a subquery: (SELECT ... FROM a JOIN b ON ...) AS x",
            )  # fmt: skip

    def _refuse_after(self, tree: exp.Expr) -> None:
        for key in ("pivots", "sample"):
            if tree.args.get(key):
                at = find(self.text, self.after("FROM"), "TABLESAMPLE", "PIVOT", "UNPIVOT")
                raise unsupported("this after a subquery", at, "remove it")

    def _join(self, join: exp.Expr, left: From, right: From) -> FromJoin:
        place = join.meta.get(PLACE)
        side, kind = join.args.get("side") or "", join.args.get("kind") or ""
        if join.args.get("method"):
            raise unsupported(
                f"a {join.args['method']} join", place, "write JOIN ... USING (a, b), or JOIN ... ON ..."
            )
        if (side, kind) not in _KINDS:
            raise unsupported(f"this join, {side} {kind}".rstrip(), place, f"joins are {_JOINS}")
        made = _KINDS[side, kind]
        on, using = join.args.get("on"), join.args.get("using") or []
        if not on and not using and kind != "CROSS":
            raise QueryError(
                "missing-on", "this join does not say which rows belong together", at=place,
                help="add ON x.k = y.k or USING (k); CROSS JOIN pairs all",
            )  # fmt: skip
        if on and kind == "CROSS":
            raise QueryError(
                "syntax", "CROSS JOIN pairs all rows and has no ON", at=place_of(on), help="write JOIN"
            )
        return FromJoin(made, left, right, self._on(on), tuple(name.name for name in using), place)

    def _on(self, tree: exp.Expr | None) -> Expr | None:
        if tree is None:
            return None
        for node in tree.find_all(exp.Query):
            raise unsupported("a subquery in ON", place_of(node), "put it into WHERE")
        return taken(tree)


def _is_query(tree: exp.Expr) -> bool:
    """Is what stands in parentheses a query, not a source or a join of sources?"""
    return isinstance(tree, exp.Subquery) and not tree.args.get("joins") and not tree.args.get("alias")
