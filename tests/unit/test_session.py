"""What a session refuses and takes before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weft.errors import QueryError, RunError, WeftError
from weft.session import Session
from weft.times import trigger

PROGRAM = """
CREATE STREAM t (x INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM parquet OPTIONS ('path' = 'in');
CREATE QUERY q AS SELECT x FROM t;
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("1s", "1000 milliseconds"), ("250ms", "250 milliseconds"), ("1 minute", "60000 milliseconds"),
     ("1000 milliseconds", "1000 milliseconds"), ("10us", None), ("soon", None), ("", None)],
)  # fmt: skip
def test_triggers(text: str, wanted: str | None) -> None:
    assert trigger(text) == wanted


def test_a_trigger_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    session = Session(home=tmp_path / "home")
    session.sql(PROGRAM)
    with pytest.raises(RunError, match="the trigger 'soon' is no interval"):
        session.start(trigger="soon")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("placement", "buckets", "wanted"),
    [("exectors", None, "there is no placement 'exectors'"), ("executors", 0, "cannot be held in 0 buckets")],
)
def test_a_placement_that_is_none_is_refused(placement: str, buckets: int | None, wanted: str) -> None:
    with pytest.raises(RunError, match=wanted):
        Session(placement=placement, buckets=buckets)


def test_tables_views_and_queries_over_them_are_kept_until_they_are_dropped() -> None:
    session = Session()
    session.sql(PROGRAM + "CREATE TABLE n (x INT, name STRING) FROM csv OPTIONS ('path' = 'in');")
    session.sql("CREATE VIEW v AS SELECT x FROM t [RANGE 1 MINUTE] WHERE x > 1;")
    session.sql("CREATE QUERY named AS SELECT name FROM v JOIN n USING (x);")
    with pytest.raises(WeftError, match="query `named` reads view `v`"):
        session.sql("DROP VIEW v")
    session.sql("DROP QUERY named; DROP VIEW v; DROP TABLE n")
    assert [query.name for query in session.program.queries] == ["q"]
    assert (session.program.tables, session.program.views) == ((), ())


@pytest.mark.parametrize("given", [None, b"SHOW QUERIES", 5, Path("app.sql")])
def test_what_is_no_text_is_no_program(given: Any) -> None:
    with pytest.raises(QueryError, match="a program is a text, not "):
        Session().sql(given)


def test_before_it_is_started_there_are_no_answers_and_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "spark", property(lambda session: pytest.fail("Spark is started")))
    session = Session(home=tmp_path / "home")
    session.sql(PROGRAM)
    for ask in (session.results, session.table):
        for name in ("q", "nope"):
            wanted = rf"query `{name}` has not run in .*\n  help: start\(\) a session with it"
            with pytest.raises(RunError, match=wanted):
                ask(name)
