"""The SELECT of a query: sqlglot's tree -> a frozen value; what is not supported yet is refused."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError
from weft.lang.cursor import check_reserved
from weft.lang.dialect import WeftParser
from weft.lang.expressions import place_of, settled
from weft.lang.groupings import group_keys
from weft.lang.sourceparser import WINDOW
from weft.lang.statements import Expr, Item, OrderKey, Select, Source, WindowSpec
from weft.lang.text import Text
from weft.lang.trees import find, parse_tree, refuse_nested, unsupported
from weft.lang.windows import tumbling

# What a SELECT may not have: its name in sqlglot's tree, words to underline, what it is, what to do.
_REFUSED = (
    ("with_", ("WITH",), "a WITH clause", "write the query without it"),
    ("distinct", ("DISTINCT",), "SELECT DISTINCT", "group by the selected columns instead"),
    ("joins", ("JOIN", ","), "a join", "query one stream at a time"),
    ("laterals", ("LATERAL",), "LATERAL VIEW", "compute the columns in the stream's declaration"),
    ("qualify", ("QUALIFY",), "QUALIFY", "use HAVING"),
    ("windows", ("WINDOW",), "a WINDOW clause", "put the window in brackets after the stream"),
    ("sort", ("SORT BY",), "SORT BY", "use ORDER BY"),
    ("cluster", ("CLUSTER BY",), "CLUSTER BY", "remove it"),
    ("distribute", ("DISTRIBUTE BY",), "DISTRIBUTE BY", "remove it"),
    ("offset", ("OFFSET",), "OFFSET after LIMIT", "leave it out"),
    ("into", ("INTO",), "SELECT INTO", "write INTO at the end of the query"),
)
_KEPT = frozenset(("expressions", "from_", "where", "group", "having", "order", "limit"))
_AFTER_FROM = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY)
_IN_ORDER = {type: at for at, type in enumerate((*_AFTER_FROM, TokenType.LIMIT))}


def select(text: Text, tokens: list[Token]) -> Select:
    """The SELECT that these tokens are."""
    check_clauses(text, tokens)
    tree = parse_tree(text, tokens, WeftParser._parse_select)
    if isinstance(tree, exp.SetOperation):
        word = type(tree).__name__.upper()
        raise unsupported(word, find(text, tokens, word, "MINUS"), "write one query for each SELECT")
    if not isinstance(tree, exp.Select):
        raise QueryError("syntax", "expected SELECT", at=text.place_of(tokens[0]))
    return _SelectReader(text, tokens).select(tree)


def check_clauses(text: Text, tokens: list[Token]) -> None:
    """Raise where the clauses of a SELECT do not follow each other as they should."""
    _refuse_comma_before_clause(text, tokens)
    _refuse_disorder(text, tokens)


def _refuse_comma_before_clause(text: Text, tokens: list[Token]) -> None:
    """`FROM trades, WHERE ...`, which sqlglot lets pass."""
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.COMMA and following.token_type in _AFTER_FROM:
            raise QueryError(
                "syntax", f"did not expect a comma before {following.text.upper()}", at=text.place_of(token),
                help="remove it",
            )  # fmt: skip


def _refuse_disorder(text: Text, tokens: list[Token]) -> None:
    """`GROUP BY ... WHERE ...`, which sqlglot lets pass."""
    before: list[Token | None] = [None]  # the clause read last, for each parenthesis that is open
    for token in tokens:
        match token.token_type:
            case TokenType.L_PAREN:
                before.append(None)
            case TokenType.R_PAREN:
                before.pop()
            case TokenType.SELECT:
                before[-1] = None
            case kind if kind in _IN_ORDER:
                if (last := before[-1]) is not None and _IN_ORDER[kind] < _IN_ORDER[last.token_type]:
                    raise QueryError(
                        "syntax", f"{token.text.upper()} comes before {last.text.upper()}",
                        at=text.place_of(token),
                        help="the order is WHERE, GROUP BY, HAVING, ORDER BY, LIMIT",
                    )  # fmt: skip
                before[-1] = token


class Reader:
    """Turns the parts of sqlglot's Select into ours."""

    def __init__(self, text: Text, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens

    def refuse_clauses(self, tree: exp.Select, kept: frozenset[str] = _KEPT) -> None:
        """Raise where it names no columns or no source, or has a clause that is not kept."""
        if not tree.expressions:
            at = self.text.place_of(self.tokens[0])
            raise QueryError("missing-columns", "SELECT names no columns", at=at, help="write SELECT a, b")
        for key, words, what, help in _REFUSED:
            if tree.args.get(key) and key not in kept:
                after_from = self.after("FROM") if key == "joins" else self.tokens
                raise unsupported(what, find(self.text, after_from, *words), help)
        for key, value in tree.args.items():
            if value and key not in kept:
                raise unsupported(f"`{key}`", self.text.place_of(self.tokens[0]), "remove it")
        if tree.args.get("from_") is None:
            raise QueryError(
                "missing-from", "this SELECT has no FROM", at=self.text.place_of(self.tokens[0]),
                help="name the stream it reads: SELECT ... FROM trades",
            )  # fmt: skip

    def refuse_source(self, table: exp.Expr) -> None:
        """Raise unless it is a name, with a window and an alias or without."""
        after_from = self.after("FROM")
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            at = place_of(table) or self.text.place_of(after_from[0])
            raise unsupported("this source", at, "name a stream")
        if table.db:
            what, help = "a stream has a name of one part", f"write `{table.name}`"
            raise QueryError("bad-name", what, at=self._dotted(after_from, table), help=help)
        for key in table.args.keys() - {"this", "alias", "joins"}:
            if table.args[key]:
                at = find(self.text, after_from[2:] or after_from, "TABLESAMPLE", "PIVOT", "UNPIVOT")
                raise unsupported("this after a stream", at, "write WHERE, GROUP BY or a window here")

    def _dotted(self, tokens: list[Token], table: exp.Table) -> Place:
        """Where a name of several parts stands."""
        parts = [part.name for part in table.parts]
        for at in range(len(tokens)):
            if [token.text for token in tokens[at : at + 2 * len(parts) - 1 : 2]] == parts:
                return self.text.place_of(tokens[at], tokens[at + 2 * len(parts) - 2])
        return self.text.place_of(tokens[0])

    def after(self, word: str) -> list[Token]:
        words = [token.text.upper() for token in self.tokens]
        return self.tokens[words.index(word) :] if word in words else self.tokens

    def group_by(self, group: exp.Expr | None) -> tuple[Expr, ...]:
        keys = group_keys(group, self.text, self.after("GROUP BY")) if group else []
        return tuple(taken(key) for key in keys)

    def item(self, tree: exp.Expr) -> Item:
        if isinstance(tree, exp.Aliases):
            raise unsupported("several names for one column", place_of(tree), "give one name")
        star = tree.find(exp.Star) if tree.is_star else None
        if star is not None and any(star.args.values()):
            at = find(self.text, self.tokens, "EXCEPT", "EXCLUDE", "REPLACE", "RENAME")
            raise unsupported("a changed *", at, "name the columns")
        if not isinstance(tree, exp.Alias):
            return Item(taken(tree))
        alias = tree.args["alias"]
        if not (isinstance(tree.this, exp.Column) and tree.this.name.lower() == alias.name.lower()):
            check_reserved(alias.name, place_of(alias))
        return Item(taken(tree.this), alias.name)

    def order_by(self, order: exp.Expr | None) -> tuple[OrderKey, ...]:
        return tuple(self._order_key(key) for key in order.expressions) if order else ()

    def _order_key(self, tree: exp.Expr) -> OrderKey:
        if isinstance(tree.this, exp.Var):
            at = find(self.text, self.after("ORDER BY"), "ALL")
            raise unsupported("ORDER BY ALL", at, "name the columns")
        return OrderKey(taken(tree.this), bool(tree.args.get("desc")), bool(tree.args.get("nulls_first")))

    def limit(self, tree: exp.Expr | None) -> int | None:
        if tree is None:
            return None
        value = tree.args.get("expression") or tree.args.get("count")
        if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
            return int(value.name)
        after = self.after("LIMIT")[1:2] or self.tokens[-1:]
        raise QueryError(
            "bad-limit", "LIMIT takes a whole number", at=self.text.place_of(after[0]),
            help="write for instance LIMIT 10",
        )  # fmt: skip


class _SelectReader(Reader):
    """Turns sqlglot's Select over one stream into ours."""

    def select(self, tree: exp.Select) -> Select:
        self._refuse(tree)
        args = tree.args
        return Select(
            items=tuple(self.item(item) for item in tree.expressions),
            source=self._source(args["from_"]),
            where=taken(args["where"].this) if args.get("where") else None,
            group_by=self.group_by(args.get("group")),
            having=taken(args["having"].this) if args.get("having") else None,
            order_by=self.order_by(args.get("order")),
            limit=self.limit(args.get("limit")),
            place=self.text.place_of(self.tokens[0], self.tokens[-1]),
        )

    def _refuse(self, tree: exp.Select) -> None:
        self.refuse_clauses(tree)
        source = tree.args["from_"].this
        if isinstance(source, exp.Query | exp.Subquery):
            at = find(self.text, self.after("FROM"), "SELECT")
            raise unsupported("a subquery", at, "write a query of its own")
        self.refuse_source(source)
        refuse_nested(tree, self.text, self.tokens)

    def _source(self, tree: exp.From) -> Source:
        table = tree.this
        alias = table.args.get("alias")
        return Source(table.name, self._window(table), alias.name if alias else None, place_of(table))

    def _window(self, table: exp.Expr) -> WindowSpec | None:
        found = table.meta.get(WINDOW)
        return tumbling(found) if found is not None else None


def taken(tree: exp.Expr) -> Expr:
    """The expression of a part of the tree: without a copy, since nobody looks at the whole again."""
    tree.parent = tree.arg_key = tree.index = None
    return settled(tree, place_of(tree))
