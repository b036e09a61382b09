from __future__ import annotations

import pytest

from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import CreateTable


@pytest.mark.parametrize(
    ("text", "delete", "retroactive"),
    [
        ("CREATE TABLE t KEY (a, b) FROM STREAM s", None, False),
        ("CREATE TABLE t FROM STREAM s KEY (a, b) RETROACTIVE", None, True),
        ("CREATE TABLE t KEY (a, b) DELETE WHERE op = 'D' FROM STREAM s", "op = 'D'", False),
        ("CREATE TABLE t DELETE WHERE key IN (1, 2) KEY (a, b) FROM STREAM s", "key IN (1, 2)", False),
        (
            "CREATE TABLE t KEY (a, b) DELETE WHERE op IS DISTINCT FROM 'U' RETROACTIVE FROM STREAM s",
            "op IS DISTINCT FROM 'U'",
            True,
        ),
    ],
)
def test_a_table_of_a_stream_is_read_and_printed(text: str, delete: str | None, retroactive: bool) -> None:
    (table,) = parse_program(text)
    assert isinstance(table, CreateTable)
    assert (table.stream, table.key, table.columns, table.retroactive) == ("s", ("a", "b"), (), retroactive)
    assert (None if table.delete is None else table.delete.sql) == delete
    assert parse_program(print_statement(table)) == (table,)


def test_a_format_may_be_called_stream() -> None:
    (table,) = parse_program("CREATE TABLE t (a INT) FROM stream OPTIONS ('path' = 'in')")
    assert isinstance(table, CreateTable)
    assert (table.stream, table.format) == (None, "stream")
