"""Names, and when they need quotes."""

from __future__ import annotations

import re

from sqlglot.dialects.spark import Spark

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words that Spark or we read as something else than a column where a column may stand.
RESERVED_WORDS = {
    "ALL", "ALTER", "AND", "AS", "BETWEEN", "CASE", "CREATE", "CROSS", "CURRENT_CATALOG", "CURRENT_DATE",
    "CURRENT_SCHEMA", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DISTINCT", "DIV", "DROP", "ELSE",
    "END", "EXCEPT", "FALSE", "FETCH", "FOR", "FROM", "FULL", "GLOB", "GRANT", "GROUP", "HAVING", "ILIKE",
    "IN", "INNER", "INSERT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LIKE", "LIMIT",
    "LOCALTIME", "LOCALTIMESTAMP", "MINUS", "NATURAL", "NOT", "NOTNULL", "NULL", "ON", "OR", "ORDER", "OUTER",
    "PARTITIONED_BY", "QUALIFY", "REGEXP", "RETURNING", "REVOKE", "RLIKE", "ROLLBACK", "SELECT",
    "SERDEPROPERTIES", "SESSION_USER", "TABLESAMPLE", "THEN", "TRUE", "UNCACHE", "UNION", "USER", "USING",
    "VALUES", "WHEN", "WHERE", "WITH", "XOR",
}  # fmt: skip
_KEYWORDS = frozenset(Spark.Tokenizer.KEYWORDS) | RESERVED_WORDS


def needs_quotes(name: str) -> bool:
    """Whether the name cannot stand bare."""
    return not _PLAIN.fullmatch(name) or name.upper() in RESERVED_WORDS


def may_need_quotes(name: str) -> bool:
    """Whether the name, once quoted, should stay so: some place may read the bare word as a keyword."""
    return needs_quotes(name) or name.upper() in _KEYWORDS


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def shown(name: str) -> str:
    """The name as text that reads as this name in every place."""
    return quoted(name) if may_need_quotes(name) else name
