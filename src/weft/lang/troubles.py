"""What sqlglot's parser complains about, in our words, with what the author may have meant."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError, nearest
from weft.lang.dialect import SyntaxTrouble
from weft.lang.text import Text

_KEYWORDS = ("FROM", "JOIN", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")
_CLAUSES = ("FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")
_OPERATORS = {"=>": ">=", "=<": "<=", "&&": "AND"}
_WINDOW_WORDS = ("RANGE", "SLIDE", "TUMBLING", "HOPPING")
_HELP = {
    "Expected an expression after the comma": "remove the comma, or write what comes after it",
    "Expected END": "write CASE WHEN a THEN b ELSE c END",
    "IN is followed": "write for instance IN ('A', 'B')",
    "FILTER takes": "write for instance COUNT(*) FILTER (WHERE price > 100)",
    "GROUP BY ends with": "write GROUP BY ROLLUP (a, b); of several groupings every combination is made",
    "No keys are named": "write for instance ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), (a), ())",
    "Found multiple 'WHERE'": "write it once; conditions are joined with AND",
}


def syntax_error(text: Text, tokens: list[Token], trouble: SyntaxTrouble) -> QueryError:
    """The error that stands for the trouble: what may have been meant if that can be told."""
    at = next((i for i, token in enumerate(tokens) if token is trouble.token), len(tokens))
    for guess in (_misplaced_window, _misspelt, _missing_name, _missing_comma, _other_operator):
        error = guess(text, tokens, at)
        if error is not None:
            return error
    return _as_told(text, tokens, trouble)


def _word(token: Token) -> str:
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()


def _misplaced_window(text: Text, tokens: list[Token], at: int) -> QueryError | None:
    """`FROM trades RANGE 1 MINUTE`, `FROM trades WHERE a > 1 [RANGE 1 MINUTE]`."""
    words = [_word(token) for token in tokens]
    if words[at : at + 2] == ["[", "RANGE"] and words[at - 1] != "FROM":
        return QueryError(
            "misplaced-window", "a window stands right behind its stream or subquery",
            at=text.place_of(tokens[at]),
            help="write it before the alias: FROM trades [RANGE 5 MINUTES] t",
        )  # fmt: skip
    for i in range(1, min(at + 1, len(tokens) - 1)):
        in_place = words[i - 1] == "[" and words[i - 3 : i - 2] in (["FROM"], ["JOIN"], [","])
        if in_place:
            return None
        if words[i] in _WINDOW_WORDS and tokens[i + 1].token_type in (TokenType.NUMBER, TokenType.STRING):
            return QueryError(
                "misplaced-window", "a window stands in brackets, right after its stream",
                at=text.place_of(tokens[i]), help="write FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS]",
            )  # fmt: skip
    return None


def _misspelt(text: Text, tokens: list[Token], at: int) -> QueryError | None:
    """`SELECT a FORM trades`: the word that was taken for a name stands here, or just before."""
    for token in reversed(tokens[max(0, at - 1) : at + 1]):
        close = nearest(token.text, _KEYWORDS) if token.token_type == TokenType.VAR else ""
        if close and _word(token) not in _KEYWORDS:
            what, help = f"did not expect `{token.text}`", f"clauses of a SELECT are {', '.join(_CLAUSES)}"
            return QueryError("syntax", what, at=text.place_of(token), because=close, help=help)
    return None


def _missing_name(text: Text, tokens: list[Token], at: int) -> QueryError | None:
    """`SELECT price AS FROM trades`."""
    before = [_word(token) for token in tokens[max(0, at - 2) : at]]
    if len(before) < 2 or before[0] != "AS" or before[1] not in _CLAUSES:
        return None
    return QueryError(
        "missing-name", "expected a name after AS", at=text.place_of(tokens[at - 1]), help="write price AS p"
    )


def _missing_comma(text: Text, tokens: list[Token], at: int) -> QueryError | None:
    """`SELECT symbol COUNT(*) FROM trades`: a second name where the first can only be an alias."""
    if not 2 <= at < len(tokens) or "FROM" in map(_word, tokens[:at]):
        return None
    alias, before = tokens[at - 1], tokens[at - 2]
    is_alias = alias.token_type == TokenType.VAR and _word(before) not in ("", "SELECT", ",", "(", "AS")
    if not is_alias or before.token_type not in (TokenType.VAR, TokenType.R_PAREN, TokenType.NUMBER):
        return None
    found = alias if _word(tokens[at]) == "(" else tokens[at]
    return QueryError(
        "syntax", f"did not expect `{found.text}`", at=text.place_of(found),
        because="is a comma missing?", help="columns are separated by commas: SELECT a, b AS c",
    )  # fmt: skip


def _other_operator(text: Text, tokens: list[Token], at: int) -> QueryError | None:
    """`a => b`, `a && b`, `a =< b`, which is two signs."""
    for first in (at - 1, at):
        signs = tokens[max(0, first) : at + 1]
        instead = _OPERATORS.get("".join(map(_word, signs)))
        if instead is not None:
            found = "".join(token.text for token in signs)
            place = text.place_of(signs[0], signs[-1])
            return QueryError("syntax", f"did not expect `{found}`", at=place, help=f"write {instead}")
    return None


def _as_told(text: Text, tokens: list[Token], trouble: SyntaxTrouble) -> QueryError:
    message = str(trouble)
    at, because = (text.place_of(trouble.token), "") if trouble.token else _after(text, tokens[-1])
    help = next((help for start, help in _HELP.items() if message.startswith(start)), "")
    if "Expected table name" in message:
        return QueryError("missing-name", "expected the name of a stream", at=at, help="write FROM trades")
    if "Required" in message:
        return QueryError("syntax", "an expression is missing", at=at, because=because or "before this")
    if trouble.token is None or "Unexpected token" not in message:
        said = message if message[1:2].isupper() else message[:1].lower() + message[1:]
        return QueryError("syntax", said, at=at, because=because, help=help)
    found = text.text[trouble.token.start : trouble.token.end + 1]
    return QueryError("syntax", f"did not expect `{found}`", at=at, help=_by(tokens, trouble.token))


def _after(text: Text, last: Token) -> tuple[Place, str]:
    """What follows the last of the tokens, and what to say about it."""
    following = re.compile(r"\s*([^\s;])").match(text.text, last.end + 1)
    if following is None:
        return text.place(last.end + 1, last.end + 2), "the statement ends here"
    return text.place(following.start(1), following.end(1)), "before this"


def _by(tokens: list[Token], token: Token) -> str:
    before = tokens[tokens.index(token) - 1].text.upper() if token in tokens[1:] else ""
    return f"write {before} BY" if before in ("GROUP", "ORDER") else ""
