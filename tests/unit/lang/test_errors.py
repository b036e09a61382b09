"""The ways to get each statement wrong: code, underlined text and help of the error."""

from __future__ import annotations

import pytest

from weft.errors import Errors, QueryError, RunError
from weft.lang import dialect
from weft.lang.parse import parse_expression, parse_program

COLUMNS = "(a INT, ts TIMESTAMP)"
STREAM = f"CREATE STREAM t {COLUMNS}"
REST = "TIMESTAMP BY ts DELAY 1 SECOND FROM rate"
OPTIONS = "OPTIONS ('key' = 'value', ...)"
QUERY = "CREATE QUERY q AS SELECT"
SELECT = f"{QUERY} a FROM t"

# bad program, code, the text that is underlined ("" at the end of the text), a part of the help
STREAMS = [
    (f"CREATE STREAM {COLUMNS} {REST}", "missing-name", "(", "CREATE STREAM name"),
    (f"CREATE STREAM 'trades' {COLUMNS} {REST}", "bad-name", "'trades'", "CREATE STREAM name"),
    (f"CREATE STREAM `a/b` {COLUMNS} {REST}", "bad-name", "`a/b`", "letters"),
    (f"CREATE STREAM _weft_x {COLUMNS} {REST}", "reserved-name", "_weft_x", "another name"),
    (f"CREATE STREAM {'x' * 200} {COLUMNS} {REST}", "bad-name", "x" * 200, "at most 128"),
    (f"CREATE STREAM t {REST}", "syntax", "TIMESTAMP", "list the columns"),
    (f"CREATE STREAM t () {REST}", "missing-name", ")", "name TYPE"),
    (f"CREATE STREAM t (a) {REST}", "missing-type", ")", "types are Spark's"),
    (f"CREATE STREAM t (a INT,) {REST}", "missing-name", ")", "name TYPE"),
    (f"CREATE STREAM t (a INT b INT) {REST}", "syntax", "b", "name TYPE"),
    (f"CREATE STREAM t (a INTT) {REST}", "unknown-type", "INTT", "did you mean `INT`?"),
    (f"CREATE STREAM t (a VARCHAR(10)) {REST}", "unknown-type", "VARCHAR", "use STRING"),
    (f"CREATE STREAM t (a DECIMAL(50, 2)) {REST}", "bad-decimal", "DECIMAL(50, 2)", "1 to 38"),
    (f"CREATE STREAM t (a DECIMAL(5, x)) {REST}", "syntax", "x", "DECIMAL(10, 2)"),
    (f"CREATE STREAM t (a ARRAY) {REST}", "syntax", ")", "ARRAY<INT>"),
    (f"CREATE STREAM t (a MAP<INT>) {REST}", "syntax", ">", "MAP<STRING, INT>"),
    (f"CREATE STREAM t (a INT, A STRING) {REST}", "duplicate-column", "A STRING", "rename"),
    (f"CREATE STREAM t (window_end TIMESTAMP) {REST}", "reserved-name", "window_end", "another name"),
    (f"CREATE STREAM t (_Weft STRING) {REST}", "reserved-name", "_Weft", "another name"),
    (f"CREATE STREAM t (a INT, d AS) {REST}", "syntax", ")", "d AS date(ts)"),
    (f"CREATE STREAM t (a INT, d AS a +) {REST}", "syntax", ")", "before this"),
    (f"CREATE STREAM t (a INT, d AS (SELECT 1)) {REST}", "not-supported", "SELECT", "query of its own"),
    (f"CREATE STREAM t (a INT, d AS SUM(a) OVER ()) {REST}", "not-supported", "OVER", "brackets"),
    (f"{STREAM} DELAY 1 SECOND FROM rate", "missing-timestamp-by", "CREATE STREAM t", "TIMESTAMP BY ts"),
    (f"{STREAM} TIMESTAMP BY ts FROM rate", "missing-delay", "CREATE STREAM t", "DELAY 5 SECONDS"),
    (f"{STREAM} TIMESTAMP BY ts DELAY 1 SECOND", "missing-from", "CREATE STREAM t", "FROM parquet"),
    (f"{STREAM} TIMESTAMP ts DELAY 1 SECOND FROM rate", "syntax", "ts", "TIMESTAMP BY ts"),
    (f"{STREAM} TIMESTAMP BY DELAY 1 SECOND FROM rate", "unknown-clause", "1", "clauses are"),
    (f"{STREAM} TIMESTAMP BY ts DELAY FROM rate", "bad-interval", "FROM", "5 SECONDS"),
    (f"{STREAM} TIMESTAMP BY ts DELAY -1 SECOND FROM rate", "negative-interval", "-1 SECOND", "0 SECONDS"),
    (f"{STREAM} TIMESTAMP BY ts DELAY 5 FROM rate", "bad-interval", "FROM", "SECONDS"),
    (f"{STREAM} {REST} DELAY 2 SECONDS", "duplicate-clause", "DELAY 2 SECONDS", "remove"),
    (f"{STREAM} {REST} IDLE 1 MINUTE", "syntax", "1", "IDLE AFTER 1 MINUTE"),
    (f"{STREAM} {REST} IDLE AFTER 0 SECONDS", "empty-interval", "0 SECONDS", "IDLE AFTER 5 SECONDS"),
    (f"{STREAM} {REST} MAX AHEAD", "bad-interval", "", "5 SECONDS"),
    (f"{STREAM} {REST} KEEP", "syntax", "", "KEEP LATE"),
    (f"{STREAM} {REST} WATERMARK 5 SECONDS", "unknown-clause", "WATERMARK", "clauses are"),
    (f"{STREAM} {REST} DELAYS 5 SECONDS", "unknown-clause", "DELAYS", "did you mean `DELAY`?"),
    (f"{STREAM} TIMESTAMP BY ts DELAY 1 SECOND FROM", "missing-name", "", "FROM parquet"),
    (f"{STREAM} TIMESTAMP BY ts DELAY 1 SECOND FROM 'a b'", "bad-name", "'a b'", "name a format"),
    (f"{STREAM} {REST} OPTIONS", "syntax", "", OPTIONS),
    (f"{STREAM} {REST} OPTIONS ('a')", "bad-option", ")", OPTIONS),
    (f"{STREAM} {REST} OPTIONS ('a' = )", "bad-option", ")", OPTIONS),
    (f"{STREAM} {REST} OPTIONS ('a' = b)", "bad-option", "b", OPTIONS),
    (f"{STREAM} {REST} OPTIONS ('a' = '1' 'b' = '2')", "bad-option", "'b'", "OPTIONS"),
    (f"{STREAM} {REST} OPTIONS ('a' = '1', 'a' = '2')", "duplicate-option", "'a'", "remove"),
    (f"{STREAM} {REST} OPTIONS (= '1')", "bad-option", "=", "OPTIONS"),
]  # fmt: skip

QUERIES = [
    ("CREATE QUERY AS SELECT a FROM t", "missing-name", "AS", "CREATE QUERY busy AS"),
    ("CREATE QUERY all AS SELECT a FROM t", "reserved-name", "all", "another name"),
    ("CREATE QUERY Analyze AS SELECT a FROM t", "reserved-name", "Analyze", "another name"),
    ("CREATE QUERY `a b` AS SELECT a FROM t", "bad-name", "`a b`", "underscores"),
    ("CREATE QUERY q SELECT a FROM t", "syntax", "SELECT", "CREATE QUERY busy AS"),
    ("CREATE QUERY q AS", "syntax", "", "CREATE QUERY busy AS"),
    ("CREATE QUERY q AS INSERT INTO t", "syntax", "INSERT", "CREATE QUERY busy AS"),
    ("CREATE QUERY q AS SELECT", "missing-columns", "SELECT", "SELECT a, b"),
    ("CREATE QUERY q AS SELECT FROM t", "missing-columns", "SELECT", "SELECT a, b"),
    ("CREATE QUERY q AS SELECT a", "missing-from", "SELECT", "FROM trades"),
    ("CREATE QUERY q AS SELECT a FROM", "missing-name", "", "FROM trades"),
    ("CREATE QUERY q AS SELECT a, FROM t", "syntax", "FROM", ""),
    ("CREATE QUERY q AS SELECT a b c FROM t", "syntax", "c", ""),
    ("CREATE QUERY q AS SELECT a + FROM t", "syntax", "FROM", ""),
    (f"{SELECT} WHERE", "syntax", "", ""),
    (f"{SELECT} WHERE x >", "syntax", "", ""),
    (f"{SELECT} GROUP a", "syntax", "a", "GROUP BY"),
    (f"{SELECT} GROUP BY", "syntax", "GROUP BY", "GROUP BY symbol"),
    (f"{SELECT} GROUP BY ROLLUP()", "syntax", "ROLLUP", "ROLLUP (a, b)"),
    (f"{SELECT} GROUP BY GROUPING SETS ()", "syntax", "GROUPING SETS", "((a, b), (a), ())"),
    (f"{SELECT} GROUP BY a WITH CUBE, b", "syntax", "b", "every combination"),
    (f"{SELECT} GROUP BY a WITH CUBE WITH ROLLUP", "syntax", "ROLLUP", "every combination"),
    (f"{SELECT} GROUP BY ROLLUP(a) WITH CUBE", "bad-grouping", "ROLLUP(a)", "GROUP BY CUBE (a, b)"),
    (f"{SELECT} GROUP BY ROLLUP(a, (b, (c, d)))", "not-supported", "(c, d)", "write c, d"),
    (f"{SELECT} GROUP BY a GROUPING SETS ((a))", "not-supported", "GROUPING SETS", "before a comma"),
    (f"{SELECT} GROUP BY ALL", "not-supported", "ALL", "keys"),
    (f"{SELECT} GROUP BY (a, b)", "not-supported", "(a, b)", "GROUP BY a, b"),
    (f"{SELECT} HAVING", "syntax", "", ""),
    (f"{SELECT} ORDER BY ALL", "not-supported", "ALL", "columns"),
    (f"{SELECT} LIMIT x", "bad-limit", "x", "LIMIT 10"),
    (f"{SELECT} LIMIT 1.5", "bad-limit", "1.5", "LIMIT 10"),
    (f"{SELECT} LIMIT -1", "bad-limit", "-", "LIMIT 10"),
    (f"{SELECT} LIMIT 10 OFFSET 5", "not-supported", "OFFSET", "leave it out"),
    ("CREATE QUERY q AS WITH x AS (SELECT 1) SELECT a FROM x", "not-supported", "WITH", "CREATE VIEW"),
    ("CREATE QUERY q AS SELECT SUM(a) OVER (ORDER BY b) FROM t", "not-supported", "OVER", "brackets"),
    (f"{SELECT} WINDOW w AS (ORDER BY b)", "not-supported", "WINDOW", "brackets"),
    (f"{SELECT} LATERAL VIEW explode(x) y", "not-supported", "LATERAL", "declaration"),
    (f"{SELECT} TABLESAMPLE (10 PERCENT)", "not-supported", "TABLESAMPLE", "WHERE"),
    ("CREATE QUERY q AS SELECT * EXCEPT (a) FROM t", "not-supported", "EXCEPT", "name the columns"),
    ("CREATE QUERY q AS SELECT a FROM db.t", "bad-name", "db.t", "`t`"),
    ("CREATE QUERY q AS SELECT a FROM range(5)", "not-supported", "range(5)", "stream"),
    ("CREATE QUERY q AS SELECT a AS window_start FROM t", "reserved-name", "window_start", "another name"),
    ("CREATE QUERY q AS SELECT a AS _weft_b FROM t", "reserved-name", "_weft_b", "another name"),
    ("CREATE QUERY q AS SELECT stack(1, 2) AS (x, y) FROM t", "not-supported", "stack(1, 2)", "one name"),
    ("CREATE QUERY q AS SELECT CASE WHEN a THEN b FROM t", "syntax", "b", "END"),
    ("CREATE QUERY q AS SELECT CAST(a AS FOO) FROM t", "syntax", "FOO", ""),
    ("CREATE QUERY q AS SELECT [1, 2] FROM t", "syntax", "[", "array(1, 2, 3)"),
    (f"{SELECT} EMIT", "syntax", "", "EMIT EMPTY"),
    (f"{SELECT} EMIT NOTHING", "syntax", "NOTHING", "EMIT EMPTY"),
    (f"{SELECT} ON ERROR STOP", "syntax", "STOP", "ON ERROR FAIL"),
    (f"{SELECT} RETAIN", "bad-interval", "", "5 SECONDS"),
    (f"{SELECT} RETAIN 0 DAYS", "empty-interval", "0 DAYS", "RETAIN 5 SECONDS"),
    (f"{SELECT} RETAIN 1 DAY RETAIN 2 DAYS", "duplicate-clause", "RETAIN 2 DAYS", "remove"),
    (f"{SELECT} RETAIN 1 DAY WHERE a > 1", "unknown-clause", "WHERE", "before"),
    (f"{SELECT} INTO", "missing-name", "", "INTO parquet"),
    (f"{SELECT} INTO parquet OPTIONS (path = out)", "bad-option", "out", OPTIONS),
    (f"{SELECT} INTO parquet INTO json", "duplicate-clause", "INTO json", "remove"),
    (f"{SELECT} INTO parquet EMITS EMPTY", "unknown-clause", "EMITS", "did you mean `EMIT`?"),
]  # fmt: skip

WINDOWS = [
    ("[]", "missing-range", "[]", "[RANGE 5 MINUTES SLIDE 10 SECONDS]"),
    ("[SLIDE 1 SECOND]", "missing-range", "[SLIDE 1 SECOND]", "[RANGE 5 MINUTES SLIDE 10 SECONDS]"),
    ("[RANGE]", "bad-interval", "]", "5 SECONDS"),
    ("[RANGE 5]", "bad-interval", "]", "units are"),
    ("[RANGE 5 PARSECS]", "bad-interval", "PARSECS", "units are"),
    ("[RANGE 5s]", "bad-interval", "5s", "5 SECONDS"),
    ("[RANGE x]", "bad-interval", "x", "5 SECONDS"),
    ("[RANGE 'soon']", "bad-interval", "'soon'", "5 SECONDS"),
    ("[RANGE '5 seconds or so']", "bad-interval", "'5 seconds or so'", "5 SECONDS"),
    ("[RANGE 0 SECONDS]", "empty-interval", "0 SECONDS", "RANGE 5 SECONDS"),
    ("[RANGE -5 SECONDS]", "empty-interval", "-5 SECONDS", "RANGE 5 SECONDS"),
    ("[RANGE 1 MINUTE SLIDE 0 SECONDS]", "empty-interval", "0 SECONDS", "SLIDE 5 SECONDS"),
    ("[RANGE 1 MONTH]", "calendar-interval", "MONTH", "days"),
    ("[RANGE '1 year']", "calendar-interval", "'1 year'", "days"),
    ("[RANGE 0.0000001 SECONDS]", "fractional-microsecond", "0.0000001 SECONDS", "whole microseconds"),
    ("[RANGE 1.5 MICROSECONDS]", "fractional-microsecond", "1.5 MICROSECONDS", "whole microseconds"),
    ("[RANGE 99999999999 WEEKS]", "bad-interval", "99999999999 WEEKS", "36,000 years"),
    ("[RANGE 1 MINUTE SLIDES 1 SECOND]", "syntax", "SLIDES", "did you mean `SLIDE`?"),
    ("[RANGE 1 MINUTE RANGE 2 MINUTES]", "duplicate-clause", "RANGE", "remove"),
    ("[ROWS 100]", "not-supported", "ROWS", "RANGE"),
    ("[1 MINUTE]", "syntax", "1", "RANGE"),
    ("[RANGE 1 MINUTE", "unclosed-bracket", "[", "`]`"),
    ("[RANGE 1 MINUTE)", "unclosed-bracket", "[", "`]`"),
    ("RANGE 1 MINUTE]", "unopened-bracket", "]", "opening"),
]  # fmt: skip

OTHERS = [
    ("SELECT a FROM t", "unknown-statement", "SELECT", "CREATE QUERY name AS SELECT"),
    ("CREATE INDEX v AS SELECT 1", "unknown-statement", "CREATE INDEX", "CREATE STREAM"),
    ("CREATE QUERRY q AS SELECT 1", "unknown-statement", "CREATE QUERRY", "did you mean `CREATE QUERY`?"),
    ("CREATE OR REPLACE QUERY q AS SELECT a FROM t", "not-supported", "CREATE OR REPLACE", "leave it out"),
    ("CREATE QUERY IF NOT EXISTS q AS SELECT a FROM t", "not-supported", "IF NOT EXISTS", "compared"),
    ("CREATE", "unknown-statement", "CREATE", "CREATE STREAM"),
    ("hello", "unknown-statement", "hello", "CREATE STREAM"),
    ("42", "unknown-statement", "42", "CREATE STREAM"),
    ("DROP QUERY", "missing-name", "", "DROP QUERY name"),
    ("DROP STREAM t", "unknown-statement", "DROP STREAM", "DROP QUERY"),
    ("DROP QUERY a, b", "syntax", ",", ";"),
    ("DROP QUERY IF EXISTS a", "syntax", "EXISTS", ";"),
    ("SHOW TABLES", "unknown-statement", "SHOW TABLES", "SHOW STREAMS"),
    ("SHOW", "unknown-statement", "SHOW", "SHOW STREAMS"),
    ("SHOW QUERIES LIKE 'a'", "syntax", "LIKE", ";"),
    ("EXPLAIN", "missing-name", "", "EXPLAIN ALL"),
    ("EXPLAIN a b", "syntax", "b", ";"),
    ("EXPLAIN ANALYZE a b", "syntax", "b", ";"),
    ("EXPLAIN ANALYZE 5", "missing-name", "5", "EXPLAIN ALL"),
    ("EXPLAIN SELECT a FROM t", "syntax", "a", ";"),
    ("DROP QUERY a DROP QUERY b", "missing-semicolon", "a", ";"),
    ("DROP QUERY 'a", "unclosed-string", "'", "'"),
    ('DROP QUERY "a', "unclosed-string", '"', '"'),
    ("DROP QUERY r'a", "unclosed-string", "r", "'"),
    ("DROP QUERY `a", "unclosed-name", "`", "`"),
    ("DROP QUERY a /* b /* c */", "unclosed-comment", "/*", "*/"),
]  # fmt: skip

BODIES = [
    (f"{SELECT} JOIN u", "missing-on", "JOIN u", "CROSS JOIN"),
    (f"{SELECT} CROSS JOIN u ON t.a = u.a", "syntax", "t.a = u.a", "write JOIN"),
    (f"{SELECT} NATURAL JOIN u", "not-supported", "NATURAL JOIN u", "USING"),
    (f"{SELECT} RIGHT SEMI JOIN u ON b", "not-supported", "RIGHT SEMI JOIN u ON b", "LEFT SEMI"),
    (f"{SELECT} JION u ON t.a = u.a", "syntax", "JION", "did you mean `JOIN`?"),
    (f"{SELECT} x [RANGE 1 MINUTE] JOIN u ON x.a = u.a", "misplaced-window", "[", "before the alias"),
    (f"{SELECT} JOIN u [RANGE 1 PARSEC] ON t.a = u.a", "bad-interval", "PARSEC", "units are"),
    (f"{SELECT} JOIN u ON t.a IN (SELECT a FROM v)", "not-supported", "SELECT a FROM v", "WHERE"),
    (f"{SELECT} x(b, c), u", "not-supported", "x", "name the columns"),
    (f"{SELECT} JOIN (u JOIN v ON b) w ON t.a = w.a", "not-supported", "u", "subquery"),
    (f"{SELECT} JOIN db.u ON t.a = u.a", "bad-name", "db.u", "`u`"),
    (f"{SELECT} WHERE a > (SELECT MAX(a) FROM u)", "not-supported", "SELECT MAX(a) FROM u", "EXISTS"),
    (f"{SELECT} WHERE b OR EXISTS (SELECT 1 FROM u)", "not-supported", "SELECT 1 FROM u", "joined by AND"),
    (f"{SELECT} WHERE (a, b) IN (SELECT 1 FROM u)", "not-supported", "(a, b) IN (SELECT 1 FROM u)", "EXISTS"),
    (f"{QUERY} (SELECT 1 FROM u) FROM t", "not-supported", "(SELECT 1 FROM u)", "EXISTS"),
    (f"{SELECT} UNION SELECT a FROM u ORDER BY a", "not-supported", "ORDER BY", "put it around"),
    (f"{SELECT} UNION ALL BY NAME SELECT a FROM u", "not-supported", "UNION", "same order"),
    (f"{SELECT} UNION SELECT a FROM", "missing-name", "", "FROM trades"),
    (f"{SELECT} UNION SELECT a FROM u GROUP BY a WHERE a > 1", "syntax", "WHERE", "the order is"),
    (f"{SELECT} [RANGE 1 MINUTE] EMIT EMPTY", "needs-aggregate", "EMIT", "remove it"),
    (f"{QUERY} a, ISTREAM(b) FROM t", "misplaced-output", "ISTREAM(b)", "ISTREAM(a, b)"),
    (f"{QUERY} ISTREAM(a), b FROM t", "syntax", ",", "whole list"),
    (f"{QUERY} DSTREAM(a) FROM t UNION SELECT a FROM u", "misplaced-output", "DSTREAM", "around"),
    (f"{QUERY} WSTREAM(a) FROM t", "missing-range", "WSTREAM", "[RANGE 4 SECONDS]"),
    (f"{QUERY} ISTREAM(a) [RANGE 1 MINUTE] FROM t", "misplaced-window", "[RANGE 1 MINUTE]", "WSTREAM"),
    (f"{QUERY} WSTREAM(a) [RANGE UNBOUNDED] FROM t", "bad-window", "[RANGE UNBOUNDED]", "4 SECONDS"),
    (f"{QUERY} DISTINCT ON (a) a FROM t", "not-supported", "DISTINCT", "GROUP BY"),
    ("CREATE VIEW v SELECT a FROM t", "syntax", "SELECT", "CREATE VIEW large AS"),
    ("CREATE VIEW v AS SELECT a FROM t EMIT CHANGES", "unknown-clause", "EMIT", "where the view is queried"),
    ("CREATE TABLE t", "syntax", "", "list the columns"),
    ("CREATE TABLE t (a INT)", "missing-from", "CREATE TABLE t", "FROM parquet"),
    ("CREATE TABLE t (a INT, b AS a + 1) FROM csv", "computed-column", "b AS a + 1", "in the query"),
    ("CREATE TABLE t (a INT) KEY (b) FROM csv", "unknown-column", "b", "columns are a"),
    ("CREATE TABLE t (a INT) KEY (a, A) FROM csv", "duplicate-column", "A", "remove"),
    ("CREATE TABLE t (a INT) KEY a FROM csv", "syntax", "a", "KEY (symbol)"),
    ("CREATE TABLE t (a INT) REFRESH 5 MINUTES FROM csv", "syntax", "5", "REFRESH EVERY 1 MINUTE"),
    ("CREATE TABLE t (a INT) RETROACTIVE RETROACTIVE FROM csv", "duplicate-clause", "RETROACTIVE", "one of"),
    ("CREATE TABLE t (a INT) DELAY 5 SECONDS FROM csv", "unknown-clause", "DELAY", "REFRESH EVERY"),
    ("DROP VIEW", "missing-name", "", "DROP VIEW name"),
]  # fmt: skip

CASES = [
    *STREAMS,
    *BODIES,
    *QUERIES,
    *((f"{SELECT} {window} WHERE a > 1", *rest) for window, *rest in WINDOWS),
    *OTHERS,
]


@pytest.mark.parametrize(
    ("program", "code", "underlined", "help"), CASES, ids=[case[0][:90] for case in CASES]
)
def test_error(program: str, code: str, underlined: str, help: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse_program(program, "app.sql")
    error = raised.value
    assert error.at is not None, error
    assert (error.at.file, error.at.line, error.at.source) == ("app.sql", 1, program)
    start = error.at.column - 1
    assert (error.code, program[start : start + error.at.length].strip()) == (code, underlined), f"\n{error}"
    assert help in str(error), f"\n{error}"


def test_all_errors_of_a_program_come_at_once() -> None:
    program = """
CREATE STREAM t (a INTT) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
CREATE QUERY good AS SELECT a FROM t;
CREATE QUERY q AS SELECT a FROM t [RANGE 0 SECONDS]
CREATE QUERY r AS SELECT FROM t;
SHOW TABLES;
"""
    with pytest.raises(Errors) as raised:
        parse_program(program)
    found = [(error.code, error.at.line if error.at else 0) for error in raised.value.errors]
    assert found == [
        ("unknown-type", 2),
        ("empty-interval", 4),
        ("missing-columns", 5),
        ("unknown-statement", 6),
    ]


def test_the_whole_message() -> None:
    with pytest.raises(QueryError) as raised:
        parse_program("CREATE QUERY q AS\n  SELECT a FROM t [RANGE 1 MONTH]", "app.sql")
    assert str(raised.value) == (
        "error[calendar-interval]: RANGE cannot be counted in months\n"
        "  app.sql:2:28\n"
        "  2 |   SELECT a FROM t [RANGE 1 MONTH]\n"
        "    |                            ^^^^^ its length depends on the calendar\n"
        "  help: use days (24 hours) or weeks"
    )


@pytest.mark.parametrize(
    "text", ["(" * 2000 + "a" + ")" * 2000, "f(" * 2000 + "a" + ")" * 2000, "-" * 0 + "NOT " * 5000 + "a"]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    ["", "a;b",
     "a ?? b", "a -> b", "a:b", "{'a': 1}", ":a", "?", "@a", "${a}", "a AT TIME ZONE 'x'", "a := 1",
     "a && b", "a IS JSON", "a IS 5", "a IN ()", "a IN b", "f(a,)", "a BETWEEN 1", "NOT", "a LIKE", "1 +",
     "a + NOT b", "NOT a IS NULL + b", "a IN (1) + b",
     "f(x -> )", "a::", "a SIMILAR TO 'b'", "x -> x", "a b"],
)  # fmt: skip
def test_what_spark_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        parse_expression(text)


def test_a_compiled_sqlglot_is_told_from_a_bad_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(dialect, "WeftParser", refuse)
    with pytest.raises(RunError) as caught:
        parse_program(f"{SELECT};")
    assert caught.value.code == "sqlglot-compiled"
    assert "pip uninstall sqlglotc" in caught.value.help
