"""The SELECT of a query: tokens -> sqlglot's tree -> a frozen value; what is not supported yet is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError
from weft.lang.cursor import check_reserved
from weft.lang.dialect import WINDOW, SyntaxTrouble, WeftParser, parser
from weft.lang.expressions import expr, place_of, with_places
from weft.lang.statements import Expr, Item, OrderKey, Select, Source
from weft.lang.text import Text

# What a SELECT may not have: its name in sqlglot's tree, the word to underline, what it is, what to do.
_REFUSED = (
    ("with_", "WITH", "a WITH clause", "write the query without it"),
    ("distinct", "DISTINCT", "SELECT DISTINCT", "group by the selected columns instead"),
    ("hint", "/*+", "a hint", "remove it"),
    ("joins", "JOIN", "a join", "query one stream at a time"),
    ("laterals", "LATERAL", "LATERAL VIEW", "compute the columns in the stream's declaration"),
    ("qualify", "QUALIFY", "QUALIFY", "use HAVING"),
    ("windows", "WINDOW", "a WINDOW clause", "put the window in brackets after the stream"),
    ("sort", "SORT BY", "SORT BY", "use ORDER BY"),
    ("cluster", "CLUSTER BY", "CLUSTER BY", "remove it"),
    ("distribute", "DISTRIBUTE BY", "DISTRIBUTE BY", "remove it"),
    ("offset", "OFFSET", "OFFSET after LIMIT", "leave it out"),
    ("sample", "TABLESAMPLE", "TABLESAMPLE", "filter with WHERE"),
    ("into", "INTO", "SELECT INTO", "write INTO at the end of the query"),
    ("kind", "AS", "SELECT AS", "select plain columns"),
    ("exclude", "EXCEPT", "SELECT * EXCEPT", "name the columns"),
)
_KEPT = {"expressions", "from_", "where", "group", "having", "order", "limit"}


def parse_tree(text: Text, tokens: list[Token], method: Callable[[WeftParser], Any]) -> exp.Expr:
    """What sqlglot's parser makes of all these tokens, with places; its complaints as ours."""
    reader = parser(text)
    try:
        (tree,) = reader._parse(method, tokens, text.text)  # type: ignore[arg-type]
    except SyntaxTrouble as trouble:
        raise _syntax_error(text, tokens, trouble) from None
    except RecursionError:
        raise QueryError(
            "too-deep", "this is nested too deeply", at=text.place_of(tokens[0]), help="split it up"
        ) from None
    if tree is None:
        raise QueryError("syntax", "an expression is missing here", at=text.place_of(tokens[0]))
    return with_places(tree, text)


def _syntax_error(text: Text, tokens: list[Token], trouble: SyntaxTrouble) -> QueryError:
    token, last = trouble.token, tokens[-1]
    message = str(trouble)
    at = text.place(last.end + 1, last.end + 2) if token is None else text.place_of(token)
    found = "" if token is None else f" at `{text.text[token.start : token.end + 1]}`"
    if "Required" in message or "Expected table name" in message:
        because = "before this" if token else ""
        return QueryError("syntax", f"something is missing{found}", at=at, because=because)
    if token is None:
        return QueryError("syntax", "the statement ends too early", at=at, help=message.lower())
    if "Unexpected token" in message:
        return QueryError("syntax", f"did not expect `{text.text[token.start : token.end + 1]}`", at=at)
    return QueryError("syntax", f"{message[:1].lower()}{message[1:]}{found}", at=at)


def select(text: Text, tokens: list[Token]) -> Select:
    """The SELECT that these tokens are."""
    tree = parse_tree(text, tokens, WeftParser._parse_select)
    if isinstance(tree, exp.SetOperation):
        word = type(tree).__name__.upper()
        raise _unsupported(word, _find(text, tokens, word), "write one query for each SELECT")
    if not isinstance(tree, exp.Select):
        raise QueryError("syntax", "expected SELECT", at=text.place_of(tokens[0]))
    return _Reader(text, tokens).select(tree)


def _unsupported(what: str, at: Place | None, help: str) -> QueryError:
    return QueryError("not-supported", f"{what} is not supported yet", at=at, help=help)


def _find(text: Text, tokens: list[Token], *words: str) -> Place:
    """The first of the words among the tokens, else the first token."""
    for token in tokens:
        if token.text.upper() in words and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            return text.place_of(token)
    return text.place_of(tokens[0])


class _Reader:
    """Turns sqlglot's Select into ours."""

    def __init__(self, text: Text, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens

    def select(self, tree: exp.Select) -> Select:
        self._refuse(tree)
        args = tree.args
        group, order = args.get("group"), args.get("order")
        if not tree.expressions:
            raise QueryError("syntax", "SELECT names no columns", at=self.text.place_of(self.tokens[0]))
        return Select(
            items=tuple(self._item(item) for item in tree.expressions),
            source=self._source(args.get("from_")),
            where=self._expr(args["where"].this) if args.get("where") else None,
            group_by=tuple(self._expr(key) for key in group.expressions) if group else (),
            having=self._expr(args["having"].this) if args.get("having") else None,
            order_by=tuple(self._order_key(key) for key in order.expressions) if order else (),
            limit=self._limit(args.get("limit")),
            place=self.text.place_of(self.tokens[0], self.tokens[-1]),
        )

    def _refuse(self, tree: exp.Select) -> None:
        for key, word, what, help in _REFUSED:
            if tree.args.get(key):
                raise _unsupported(what, _find(self.text, self.tokens, word), help)
        for key, value in tree.args.items():
            if value and key not in _KEPT:
                raise _unsupported(f"`{key}`", self.text.place_of(self.tokens[0]), "remove it")
        for node in tree.find_all(exp.Window, exp.Query):
            if isinstance(node, exp.Window):
                raise _unsupported("OVER", _find(self.text, self.tokens, "OVER"), "use a window in brackets")
            if node is not tree:
                raise _unsupported("a subquery", place_of(node), "write a query of its own")
        group = tree.args.get("group")
        for key, value in group.args.items() if group else ():
            if value and key != "expressions":
                at = _find(self.text, self.tokens, "ALL", "ROLLUP", "CUBE", "GROUPING SETS")
                raise _unsupported(f"GROUP BY {key.upper()}", at, "name the group keys")
        for node in group.expressions if group else ():
            if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets):
                what = type(node).__name__.upper()
                raise _unsupported(what, place_of(node), "write one query per grouping")

    def _expr(self, tree: exp.Expr) -> Expr:
        return expr(tree)

    def _item(self, tree: exp.Expr) -> Item:
        if isinstance(tree, exp.Aliases):
            raise _unsupported("several names for one column", place_of(tree), "give one name")
        if not isinstance(tree, exp.Alias):
            return Item(self._expr(tree))
        alias = tree.args["alias"]
        if not (isinstance(tree.this, exp.Column) and tree.this.name.lower() == alias.name.lower()):
            check_reserved(alias.name, place_of(alias))
        return Item(self._expr(tree.this), alias.name)

    def _source(self, tree: exp.Expr | None) -> Source:
        if tree is None:
            raise QueryError(
                "missing-from", "this SELECT has no FROM", at=self.text.place_of(self.tokens[0]),
                help="name the stream it reads: SELECT ... FROM trades",
            )  # fmt: skip
        table = tree.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            at = place_of(table) or _find(self.text, self.tokens, "FROM")
            raise _unsupported("this source", at, "name a stream")
        if table.db:
            what, help = "a stream has a name of one part", f"write `{table.name}`"
            raise QueryError("bad-name", what, at=place_of(table), help=help)
        for key in table.args.keys() - {"this", "alias"}:
            if table.args[key]:
                raise _unsupported(f"`{key}` after a stream", place_of(table), "remove it")
        alias = table.args.get("alias")
        return Source(table.name, table.meta.get(WINDOW), alias.name if alias else None, place_of(table))

    def _order_key(self, tree: exp.Expr) -> OrderKey:
        if not isinstance(tree, exp.Ordered):
            return OrderKey(self._expr(tree))
        if isinstance(tree.this, exp.Var):
            raise _unsupported("ORDER BY ALL", _find(self.text, self.tokens, "ALL"), "name the columns")
        descending, nulls_first = bool(tree.args.get("desc")), bool(tree.args.get("nulls_first"))
        return OrderKey(self._expr(tree.this), descending, nulls_first)

    def _limit(self, tree: exp.Expr | None) -> int | None:
        if tree is None:
            return None
        value = tree.args.get("expression") or tree.args.get("count")
        if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
            return int(value.name)
        raise QueryError(
            "bad-limit", "LIMIT takes a whole number",
            at=(place_of(value) if value else None) or _find(self.text, self.tokens, "LIMIT", "FETCH"),
            help="write for instance LIMIT 10",
        )  # fmt: skip
