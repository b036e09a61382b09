"""Random expressions of every type, drawn from a random number generator.

Hypothesis hands in one that it can shrink, the campaign one with a seed. Columns are those of `rows.COLUMNS`.
What is *exact* is the same however it is computed: it may be compared, ordered by, and put into arithmetic.
Sums of `w`, variances and approximate aggregates are not, and are only shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

WHOLE = ("j", "t", "h", "n")
EXACT = ("e", "f")  # multiples of one eighth: every sum of them is exact
KEYS = (
    "k", "k", "k", "u", "j", "t", "b", "d", "e", "f", "day", "stamp", "n", "j % 2", "upper(k)", "e > 0",
    "CASE WHEN j > 0 THEN 'up' ELSE k END", "coalesce(k, 'none')", "CAST(at AS DATE)", "hour(at)",
)  # fmt: skip
ANY = ("k", "u", "j", "t", "h", "n", "d", "e", "f", "w", "day", "stamp", "b")


@dataclass(frozen=True)
class Aggregate:
    sql: str
    kind: str  # int, double, decimal, string or other: what may be done with it
    exact: bool


def whole(rng: Random, depth: int = 2) -> str:
    """An integer."""
    if depth == 0 or rng.random() < 0.4:
        return rng.choice([*WHOLE[:3], *WHOLE[:3], "n", str(rng.randint(-3, 9))])
    a = whole(rng, depth - 1)
    return rng.choice(
        [
            f"({a} + {rng.randint(1, 5)})",
            f"({a} - {whole(rng, 0)})",
            f"({a} * {rng.randint(2, 4)})",
            f"({a} % {rng.randint(2, 5)})",
            f"({a} div {rng.randint(2, 5)})",
            f"abs({a})",
            f"(- {a})",
            f"coalesce({a}, {rng.randint(0, 3)})",
            f"CASE WHEN {condition(rng, depth - 1)} THEN {a} ELSE {whole(rng, 0)} END",
            f"if({condition(rng, 0)}, {a}, NULL)",
            f"greatest({a}, {whole(rng, 0)})",
            f"nullif({a}, {rng.randint(0, 2)})",
            "length(u)",
            "minute(at)",
            "CAST(e AS INT)" if rng.random() < 0.2 else "month(day)",
            f"({a} div j)" if rng.random() < 0.3 else f"pmod({a}, 3)",
        ]
    )


def exact(rng: Random, depth: int = 2) -> str:
    """A float or double that every order of adding gives alike."""
    if depth == 0 or rng.random() < 0.5:
        return rng.choice(["e", "e", "f"])
    a = exact(rng, depth - 1)
    return rng.choice(
        [
            f"({a} * 2)",
            f"({a} + {exact(rng, 0)})",
            f"({a} - j)",
            f"({a} / 4)",
            f"abs({a})",
            f"(- {a})",
            f"coalesce({a}, 0.5)",
            f"CASE WHEN {condition(rng, 0)} THEN {a} END",
            f"least({a}, {exact(rng, 0)})",
        ]
    )


def decimal(rng: Random, depth: int = 1) -> str:
    if depth == 0 or rng.random() < 0.5:
        return "d"
    return rng.choice(
        ["(d * 2)", "(d + 1)", "(d - 0.25)", "(d * 1.5)", "coalesce(d, 0)", "abs(d)", "(d + j)"]
    )


def text(rng: Random, depth: int = 1) -> str:
    if depth == 0 or rng.random() < 0.5:
        return rng.choice(["k", "u"])
    a = text(rng, depth - 1)
    return rng.choice(
        [
            f"upper({a})",
            f"lower({a})",
            f"concat({a}, '-', u)",
            f"substring({a}, 1, 1)",
            f"coalesce({a}, 'none')",
            f"CASE WHEN {condition(rng, 0)} THEN {a} ELSE 'x' END",
            f"({a} || '!')",
        ]
    )


def moment(rng: Random) -> str:
    return rng.choice(["day", "date_add(day, 3)", "CAST(stamp AS DATE)", "stamp"])


def column(rng: Random) -> str:
    return rng.choice(ANY)


def condition(rng: Random, depth: int = 2) -> str:
    """A boolean, often null."""
    if depth == 0 or rng.random() < 0.6:
        return _comparison(rng)
    a, b = condition(rng, depth - 1), condition(rng, depth - 1)
    return rng.choice([f"({a} AND {b})", f"({a} OR {b})", f"(NOT {a})", f"({a} AND {b})"])


def equality(rng: Random) -> str:
    """A condition that groups can be picked by."""
    return rng.choice(
        [
            f"k = '{rng.choice(['A', 'B', 'C', '', 'k3'])}'",
            f"k IN ('{rng.choice(['A', 'k7'])}', '{rng.choice('BCD')}')",
            f"j = {rng.randint(-2, 4)}",
            f"n IN ({rng.randint(-2, 1)}, {rng.randint(0, 4)})",
            f"{rng.randint(-1, 3)} = h",
            f"b = {rng.choice(['TRUE', 'FALSE'])}",
        ]
    )


def ranges(rng: Random) -> str:
    """Ranges of one column: of one side, of both, between two values, empty, with every value in them."""
    column, bound = rng.choice(_BOUNDS)
    below, above = rng.choice(["<", "<="]), rng.choice([">", ">="])
    a, b = bound(rng), bound(rng)
    return rng.choice(
        [
            f"{column} {above} {a}",
            f"{column} {below} {a}",
            f"{a} {below} {column}",
            f"{column} BETWEEN {a} AND {b}",
            f"{column} {above} {a} AND {column} {below} {b}",
            f"{column} {above} {a} AND {column} BETWEEN {a} AND {b}",
        ]
    )


def _among(low: int, high: int, *odd: str, part: int = 1) -> Callable[[Random], str]:
    """A number between two, in steps of one or less, or now and then an odd one."""

    def drawn(rng: Random) -> str:
        number = rng.randint(low * part, high * part)
        return rng.choice([str(number // part), str(number / part if part > 1 else number), *odd])

    return drawn


_BOUNDS: tuple[tuple[str, Callable[[Random], str]], ...] = (
    ("j", _among(-4, 7, "0.5", "3000000000")),
    ("t", _among(-130, 130, "-128", "127", "1.25")),
    ("n", _among(-9, 9, "9223372036854775807", "-9223372036854775807")),
    ("d", _among(-900, 900, "0.005", part=100)),
    ("e", _among(-9, 9, "-0.0", "0", "1e300", part=8)),
    ("f", _among(-9, 9, "0.1", part=4)),
    ("w", _among(-1000, 1000, part=100)),
    ("day", lambda rng: f"DATE '2024-06-{rng.randint(9, 21):02}'"),
    ("stamp", lambda rng: f"TIMESTAMP '1970-01-01 00:00:0{rng.choice([0, 1, 1.5, 3, 3.000001, 5])}'"),
    ("k", lambda rng: f"'{rng.choice(['A', 'B', 'C', '', 'k3', 'k12', 'é'])}'"),
)


def _comparison(rng: Random) -> str:
    sign = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    return rng.choice(
        [
            f"{rng.choice(WHOLE)} {sign} {rng.randint(-2, 6)}",
            f"{rng.choice(WHOLE)} {sign} j",
            f"j BETWEEN {rng.randint(-2, 1)} AND {rng.randint(1, 5)}",
            f"j IN ({rng.randint(-1, 2)}, {rng.randint(2, 5)}, 4)",
            f"{rng.choice(EXACT)} {sign} {rng.choice(['0', '0.5', '-1.25', 'j'])}",
            f"d {sign} {rng.choice(['0', '1.5', 'j'])}",
            f"k {sign} '{rng.choice(['A', 'B', 'C', ''])}'",
            f"k IN ('A', '{rng.choice('BCD')}')",
            f"u LIKE '{rng.choice(['a%', '%1', '_2%'])}'",
            f"{rng.choice(ANY)} IS {rng.choice(['', 'NOT '])}NULL",
            "b",
            "isnan(e)",
            f"day {sign} DATE '2024-06-1{rng.randint(0, 9)}'",
            f"k <=> {rng.choice(['NULL', 'u'])}",
        ]
    )


def plain(rng: Random) -> str:
    """An expression of any type that can be aggregated, grouped by and ordered."""
    return rng.choice([whole, exact, decimal, text, moment, column])(rng)


def aggregate(rng: Random) -> Aggregate:
    """One aggregate call, perhaps filtered."""
    made = rng.choice(_AGGREGATES)(rng)
    if rng.random() < 0.25:
        return Aggregate(f"{made.sql} FILTER (WHERE {condition(rng, 1)})", made.kind, made.exact)
    return made


def exact_number(rng: Random) -> Aggregate:
    """An aggregate that is a number and exact."""
    while True:
        made = aggregate(rng)
        if made.exact and made.kind in ("int", "double", "decimal"):
            return made


def _number(rng: Random) -> tuple[str, str, bool]:
    """An expression, the kind of its sum, and whether that is exact."""
    return rng.choice(
        [
            (whole(rng), "int", True),
            (whole(rng), "int", True),
            (exact(rng), "double", True),
            (decimal(rng), "decimal", True),
            ("w", "double", False),
            ("(w * j)", "double", False),
        ]
    )


def _count(rng: Random) -> Aggregate:
    return Aggregate(
        rng.choice(["COUNT(*)", f"COUNT({plain(rng)})", f"COUNT_IF({condition(rng)})"]), "int", True
    )


def _sum(rng: Random) -> Aggregate:
    sql, kind, is_exact = _number(rng)
    return Aggregate(f"SUM({sql})", kind, is_exact)


def _average(rng: Random) -> Aggregate:
    sql, kind, _ = _number(rng)
    return Aggregate(f"AVG({sql})", "decimal" if kind == "decimal" else "double", kind == "decimal")


def _extreme(rng: Random) -> Aggregate:
    function = rng.choice(["MIN", "MAX"])
    sql, kind = rng.choice(
        [
            (whole(rng), "int"),
            (exact(rng), "double"),
            (decimal(rng), "decimal"),
            (text(rng), "string"),
            (moment(rng), "other"),
        ]
    )
    return Aggregate(f"{function}({sql})", kind, True)


def _spread(rng: Random) -> Aggregate:
    function = rng.choice(["VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VARIANCE"])
    return Aggregate(f"{function}({rng.choice(['j', 't', 'e', 'w', 'd', 'f', 'j * 2'])})", "double", False)


def _truth(rng: Random) -> Aggregate:
    return Aggregate(
        f"{rng.choice(['BOOL_AND', 'BOOL_OR', 'EVERY', 'SOME'])}({condition(rng)})", "other", True
    )


def _chosen(rng: Random) -> Aggregate:
    return Aggregate(f"{rng.choice(['MIN_BY', 'MAX_BY'])}({plain(rng)}, {plain(rng)})", "other", True)


def _ordered(rng: Random) -> Aggregate:
    function, arg = rng.choice(["FIRST", "LAST"]), plain(rng)
    form = rng.choice([f"{function}({arg})", f"{function}({arg}, true)", f"{function}_VALUE({arg})"])
    return Aggregate(form, "other", True)


def _distinct(rng: Random) -> Aggregate:
    return Aggregate(f"COUNT(DISTINCT {plain(rng)})", "int", True)


def _approximate(rng: Random) -> Aggregate:
    share = rng.choice(["0.5", "0.25", "0.9", "0.99", "0.0", "1.0"])
    number = rng.choice(["j", "n", "e", "w", "d", "t", "f"])
    return Aggregate(
        rng.choice(
            [
                f"APPROX_COUNT_DISTINCT({plain(rng)})",
                "APPROX_COUNT_DISTINCT(u, 0.02)",
                f"APPROX_PERCENTILE({number}, {share})",
                f"APPROX_PERCENTILE({number}, {share}, 1000)",
                f"PERCENTILE_APPROX({number}, ARRAY(0.25, {share}, 0.75))",
            ]
        ),
        "approximate",
        False,
    )


_AGGREGATES: tuple[Callable[[Random], Aggregate], ...] = (
    _count, _sum, _sum, _average, _extreme, _extreme, _spread, _truth, _chosen, _ordered, _distinct,
    _approximate,
)  # fmt: skip


def around(rng: Random) -> str:
    """An expression over exact aggregates."""
    a, b = exact_number(rng), exact_number(rng)
    return rng.choice(
        [
            f"{a.sql} + {rng.randint(1, 9)}",
            f"{a.sql} - COUNT(*)",
            f"{a.sql} * 2",
            f"{a.sql} / COUNT(*)",
            f"{a.sql} / {b.sql}" if "double" in (a.kind, b.kind) else f"{a.sql} / 4",
            f"COALESCE({a.sql}, 0)",
            f"CASE WHEN {a.sql} > 3 THEN 'many' WHEN {a.sql} IS NULL THEN 'none' ELSE 'few' END",
            f"IF({a.sql} >= {b.sql}, 1, 0)",
            f"GREATEST({a.sql}, 0)",
            f"{a.sql} IS NULL",
            f"abs({a.sql})",
            f"CAST({a.sql} AS DOUBLE)",
            f"{a.sql} BETWEEN 0 AND 10",
            f"NULLIF({a.sql}, 0)",
            f"upper(MAX({text(rng, 0)}))",
            f"concat(MIN({text(rng, 0)}), '/', MAX({text(rng, 0)}))",
            "COUNT(*) % 3",
            f"{a.sql} div 2" if a.kind == "int" else f"- {a.sql}",
        ]
    )


def having(rng: Random) -> str:
    a = exact_number(rng)
    return rng.choice(
        [
            f"COUNT(*) > {rng.randint(1, 3)}",
            f"{a.sql} > {rng.randint(-2, 5)}",
            f"{a.sql} IS NOT NULL",
            f"{a.sql} <= {exact_number(rng).sql} OR COUNT(*) = 1",
            f"NOT ({a.sql} BETWEEN 0 AND 2)",
        ]
    )
