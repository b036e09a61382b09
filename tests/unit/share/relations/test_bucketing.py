"""By which columns the rows of queries can lie in buckets, and which queries cannot."""

from __future__ import annotations

import pytest

from weft.optimize.pipeline import optimize_program
from weft.share.build import build
from weft.share.relations.bucketing import Bucketing, bucketing_of
from weft.testing.harness import bound

STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, j STRING, n INT, v BIGINT, x DOUBLE, at TIMESTAMP) TIMESTAMP BY at "
    f"DELAY 1 SECOND FROM rate;\n"
    for name in "abc"
)
TABLE = "CREATE TABLE t (k STRING, label STRING) FROM parquet OPTIONS ('path' = 't') KEY (k);\n"


def bucketed(*queries: str) -> Bucketing:
    named = [f"CREATE QUERY q{at} AS {query};" for at, query in enumerate(queries)]
    text = STREAMS + (TABLE if " t " in " ".join(queries) else "") + "\n".join(named)
    return bucketing_of(build(optimize_program(bound(text))))


BY_K = (("a", ("k",)), ("b", ("k",)))
KEYED = {
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k": BY_K,
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON y.k = x.k AND x.v < y.v": BY_K,
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k AND x.j = y.j": (
        ("a", ("k", "j")),
        ("b", ("k", "j")),
    ),
    "SELECT x.k, y.v AS w FROM a [RANGE 1 MINUTE] x LEFT JOIN b [RANGE 1 HOUR] y ON x.k = y.k": BY_K,
    "SELECT x.k, x.v FROM a [RANGE 1 MINUTE] x WHERE EXISTS "
    "(SELECT 1 FROM b [RANGE 1 HOUR] y WHERE x.k = y.k)": BY_K,
    "SELECT x.k, x.v FROM a [RANGE 1 MINUTE] x WHERE x.k NOT IN "
    "(SELECT y.k FROM b [RANGE 1 HOUR] y WHERE y.k IS NOT NULL)": None,
    "SELECT x.v, z.v AS u FROM a [RANGE 1 MINUTE] x, b [RANGE 1 MINUTE] y, c [RANGE 1 MINUTE] z "
    "WHERE x.k = y.j AND y.j = z.k": (("a", ("k",)), ("b", ("j",)), ("c", ("k",))),
    "SELECT x.v, z.v AS u FROM a [RANGE 1 MINUTE] x, b [RANGE 1 MINUTE] y, c [RANGE 1 MINUTE] z "
    "WHERE x.k = z.k AND y.k = z.k": (("a", ("k",)), ("b", ("k",)), ("c", ("k",))),
    "SELECT x.v, z.v AS u FROM a [RANGE 1 MINUTE] x, b [RANGE 1 MINUTE] y, c [RANGE 1 MINUTE] z "
    "WHERE x.k = y.k AND y.j = z.j": None,
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.v < y.v": None,
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x CROSS JOIN b [RANGE 1 HOUR] y": None,
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON upper(x.k) = y.k": (
        ("a", ("UPPER(k)",)),
        ("b", ("k",)),
    ),
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN a [RANGE 1 HOUR] y ON x.k = y.k": (("a", ("k",)),),
    "SELECT x.v, y.v AS w FROM a [RANGE 1 MINUTE] x JOIN a [RANGE 1 HOUR] y ON x.k = y.j": None,
    "SELECT DISTINCT k, v FROM a [RANGE 1 MINUTE]": (("a", ("k", "v")),),
    "SELECT DISTINCT x.k FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k": BY_K,
    "SELECT DISTINCT x.v FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k": None,
    "SELECT k FROM a [RANGE 1 MINUTE] EXCEPT SELECT k FROM b [RANGE 1 MINUTE]": BY_K,
    "SELECT k, j FROM a [RANGE 1 MINUTE] INTERSECT SELECT j, k FROM b [RANGE 1 MINUTE]": (
        ("a", ("k", "j")),
        ("b", ("j", "k")),
    ),
    "SELECT k, j FROM a [RANGE 1 MINUTE] UNION SELECT k, 'none' FROM b [RANGE 1 MINUTE]": BY_K,
    "SELECT k FROM a [RANGE 1 MINUTE] UNION ALL SELECT j FROM a [RANGE 1 MINUTE]": None,
    "SELECT 1 AS one FROM a [RANGE 1 MINUTE] UNION SELECT 2 AS one FROM b [RANGE 1 MINUTE]": None,
    "SELECT x.k, COUNT(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] x "
    "JOIN b [RANGE 1 MINUTE SLIDE 1 SECOND] y ON x.k = y.k GROUP BY x.k": BY_K,
    "SELECT y.k, y.j, COUNT(*) AS n FROM a [RANGE 1 MINUTE] x "
    "JOIN b [RANGE 1 MINUTE] y ON x.k = y.k GROUP BY y.k, y.j": BY_K,
    "SELECT x.j, COUNT(*) AS n FROM a [RANGE 1 MINUTE] x "
    "JOIN b [RANGE 1 MINUTE] y ON x.k = y.k GROUP BY x.j": None,
    "SELECT COUNT(*) AS n FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k": None,
    "SELECT x.k, x.v FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] x "
    "JOIN b [RANGE 1 MINUTE SLIDE 1 SECOND] y ON x.k = y.k ORDER BY x.v LIMIT 3": None,
    "SELECT ISTREAM(x.v) FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k": None,
    "SELECT ISTREAM(y.k) FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k": BY_K,
    "SELECT x.v FROM a [RANGE 1 MINUTE] x "
    "WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 1 HOUR] y WHERE x.k = y.k)": None,
    "SELECT x.v, y.k FROM (SELECT DISTINCT k, v FROM a [RANGE 1 MINUTE]) x "
    "JOIN b [RANGE 1 HOUR] y ON x.k = y.k": BY_K,
    "SELECT x.v, y.k FROM (SELECT DISTINCT v FROM a [RANGE 1 MINUTE]) x "
    "JOIN b [RANGE 1 HOUR] y ON x.v = y.v": (("a", ("v",)), ("b", ("v",))),
}


@pytest.mark.parametrize(("query", "by"), KEYED.items(), ids=str)
def test_rows_lie_by_what_all_that_meets_has_in_common(
    query: str, by: tuple[tuple[str, tuple[str, ...]], ...] | None
) -> None:
    found = bucketed(query)
    assert [spread.by for spread in found.spreads] == ([] if by is None else [by])
    assert [name for name, _ in found.stay] == (["q0"] if by is None else [])


@pytest.mark.parametrize(
    ("query", "why"),
    {
        "SELECT x.v FROM a [RANGE 1 MINUTE] x CROSS JOIN b [RANGE 1 HOUR] y": "has no columns equal",
        "SELECT DISTINCT x.v FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k": (
            "what belongs together in Distinct may lie in different buckets"
        ),
        "SELECT COUNT(*) AS n FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k": (
            "Grouped: count(*) may lie in different buckets"
        ),
        "SELECT x.v FROM a [RANGE 1 MINUTE] x JOIN t ON x.k = t.k": "it reads table `t`",
        "SELECT x.k FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] x JOIN b [RANGE 1 MINUTE SLIDE 1 SECOND] y "
        "ON x.k = y.k ORDER BY x.k LIMIT 3": "the first 3 rows of a window are those of all buckets",
        "SELECT x.v FROM a [RANGE 1 MINUTE] x JOIN a [RANGE 1 MINUTE] y ON x.k = y.j": (
            "no column is common to all that Paired inner on a.k = a#2.j brings together"
        ),
    }.items(),
    ids=str,
)
def test_why_a_query_stays_in_the_driver(query: str, why: str) -> None:
    ((name, said),) = bucketed(query).stay
    assert name == "q0"
    assert why in said


def test_queries_that_agree_are_one_spread() -> None:
    found = bucketed(
        "SELECT DISTINCT k, v FROM a [RANGE 1 MINUTE]",
        "SELECT x.v FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k",
        "SELECT DISTINCT j FROM a [RANGE 1 MINUTE]",
        "SELECT DISTINCT v FROM c [RANGE 1 MINUTE]",
    )
    by_query = {spread.queries: spread.by for spread in found.spreads}
    assert by_query == {("q1", "q0"): BY_K, ("q2",): (("a", ("j",)),), ("q3",): (("c", ("v",)),)}
    assert found.queries() == {"q0", "q1", "q2", "q3"}


def test_what_is_shared_is_in_buckets_for_all_or_for_none() -> None:
    pairs = "FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k"
    found = bucketed(f"SELECT x.k, y.v {pairs}", f"SELECT COUNT(*) AS n {pairs}")
    assert not found.spreads
    assert dict(found.stay)["q0"] == "it shares what it holds with q1"


def test_what_is_shared_must_be_parted_in_one_way() -> None:
    pairs = "FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 HOUR] y ON x.k = y.k AND x.j = y.j"
    found = bucketed(f"SELECT DISTINCT x.k {pairs}", f"SELECT DISTINCT y.j {pairs}")
    assert not found.spreads
    assert dict(found.stay)["q1"] == "q0, q1 share what they hold, and go by different columns"


def test_a_leaf_in_common_ties_nobody() -> None:
    found = bucketed(
        "SELECT DISTINCT k FROM a [RANGE 1 MINUTE]",
        "SELECT COUNT(*) AS n FROM (SELECT k FROM a [RANGE 1 MINUTE]) x",
    )
    assert found.queries() == {"q0"}
