"""What stands in FROM, and queries side by side: windows in brackets, places of joins and set operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from weft.lang.bodies import Span
from weft.lang.cursor import Cursor
from weft.lang.text import Text
from weft.lang.windows import span

WINDOW = "window"  # where a source keeps its Span, in `meta`
SPAN = "span"  # where a node keeps the offsets of its text, in `meta`
COMMA = "comma"  # whether a join was written as a comma, in `meta`
NONRETROACTIVE = "nonretroactive"  # whether a table is, where that stands behind its name, in `meta`

_SEEN = {"NONRETROACTIVE": True, "RETROACTIVE": False}


class SourceParser(SparkParser):
    """Spark's parser with windows behind sources; it notes where joins and set operations stand."""

    ADD_JOIN_ON_TRUE = False  # a join that does not say how is refused

    text: Text = Text("")

    def parse_body(self) -> exp.Expr | None:
        """A SELECT, or several put together by UNION and the like, each in parentheses or not."""
        return self._parse_set_operations(self._parse_select(nested=True, parse_subquery_alias=False))

    def _spanned(self, parse: Callable[[], Any]) -> Any:
        first = self._curr
        this: exp.Expr | None = parse()
        if this is not None and first and self._prev:
            this.meta[SPAN] = (first.start, self._prev.end + 1)
        return this

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if not isinstance(this, exp.Table) or self._curr.token_type != TokenType.L_BRACKET:
            return super()._parse_bracket(this)
        this.meta[WINDOW] = self._window()
        return this

    def _window(self) -> Span:
        """The window whose bracket stands here."""
        cursor = Cursor(self.text, self._tokens)
        cursor.index = self._index
        found = span(cursor)
        self._advance(cursor.index - self._index)
        return found

    def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> exp.Subquery | None:
        windowed = parse_alias and this is not None and self._curr.token_type == TokenType.L_BRACKET
        found = self._window() if windowed else None
        made = super()._parse_subquery(this, parse_alias)
        if made is not None and found is not None:
            made.meta[WINDOW] = found
        return made

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        this = super()._parse_table(*args, **kwargs)
        alias = this.args.get("alias") if isinstance(this, exp.Table) else None
        word = "" if alias is None or alias.this is None or alias.this.args["quoted"] else alias.name.upper()
        if this is not None and word in _SEEN:
            this.meta[NONRETROACTIVE] = _SEEN[word]
            this.set("alias", self._parse_table_alias())
        return this

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        found = super()._parse_select_query(*args, **kwargs)
        if isinstance(found, exp.Select) and first:
            found.meta[SPAN] = (first.start, self._prev.end + 1)
        return found

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """EXISTS ((SELECT ...) UNION ...) as well, where a parenthesis comes before the SELECT."""
        kinds = [token.token_type for token in self._tokens[self._index : self._index + 3]]
        if kinds != [TokenType.EXISTS, TokenType.L_PAREN, TokenType.L_PAREN] or not self._opens_query():
            return super()._parse_function_call(*args, **kwargs)
        self._advance(2)
        made = exp.Exists(this=self.parse_body())
        self._match_r_paren()
        return made

    def _opens_query(self) -> bool:
        """Is the first token behind the parentheses that open from the next one on a SELECT?"""
        rest = (token.token_type for token in self._tokens[self._index + 1 :])
        return next((kind for kind in rest if kind != TokenType.L_PAREN), None) == TokenType.SELECT

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        first = self._curr
        join = super()._parse_join(*args, **kwargs)
        if join is not None and first:
            join.meta[SPAN] = (first.start, self._prev.end + 1)
            join.meta[COMMA] = first.token_type == TokenType.COMMA
        return join

    def parse_set_operation(self, *args: Any, **kwargs: Any) -> exp.SetOperation | None:
        word = self._curr
        found = super().parse_set_operation(*args, **kwargs)
        if found is not None:
            found.meta[SPAN] = (word.start, word.end + 1)
        return found
