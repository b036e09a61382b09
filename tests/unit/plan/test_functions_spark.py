"""The list of functions is Spark's; `--update` makes it anew, which takes some minutes."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import weft.plan
from weft.plan.functions import Function, known_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LIST = Path(weft.plan.__file__).with_name("functions.txt")
MOST = 8  # a function that takes so many takes any number

# What the registry does not tell: values that depend on who runs the query where, and table functions.
NONDETERMINISTIC = {
    "current_user", "user", "session_user", "current_catalog", "current_database", "current_schema",
    "current_path", "java_method", "reflect", "try_reflect", "current_time", "localtime",
}  # fmt: skip
GENERATORS = {"range", "sql_keywords", "collations", "python_worker_logs", "variant_explode",
              "variant_explode_outer"}  # fmt: skip
ONE_ARGUMENT = {"hour", "minute", "second"}  # with more Spark complains of something else


def names(spark: SparkSession) -> list[str]:
    found = (row[0] for row in spark.sql("SHOW FUNCTIONS").collect())
    return sorted(name for name in found if re.fullmatch(r"[a-z_]\w*", name))


def probe(spark: SparkSession, name: str) -> Function:
    """What Spark makes of calls with no to eight NULLs."""
    counts, deterministic = [], True
    for count in range(MOST + 1):
        try:
            frame = spark.sql(f"SELECT {name}({', '.join(['NULL'] * count)})")
            deterministic = deterministic and frame._jdf.queryExecution().analyzed().deterministic()
            counts.append(count)
        except AnalysisException as error:
            if "WRONG_NUM_ARGS" not in str(error.getCondition()):
                counts.append(count)
    most = 1 if name in ONE_ARGUMENT else max(counts, default=MOST)
    return Function(
        name, kind(spark, name, deterministic), min(counts, default=0), None if most == MOST else most
    )


def kind(spark: SparkSession, name: str, deterministic: bool) -> str:
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
    group = catalog.lookupFunctionInfo(identifier).getGroup()
    top_k = name.startswith("approx_top_k") and "estimate" not in name
    if group == "agg_funcs" or re.search(r"_agg(_|$)", name) or top_k:
        return "aggregate"
    if group == "window_funcs":
        return "window"
    if group in ("generator_funcs", "table_funcs") or name in GENERATORS:
        return "generator"
    return "scalar" if deterministic and name not in NONDETERMINISTIC else "nondeterministic"


def test_the_list_is_sparks(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    wanted = names(spark)
    if request.config.getoption("--update"):
        made = [probe(spark, name) for name in wanted]
        lines = (
            f"{one.name} {one.kind} {one.least} {'*' if one.most is None else one.most}\n" for one in made
        )
        LIST.write_text("".join(lines))
        known_functions.cache_clear()
    assert sorted(known_functions()) == wanted
    some = random.Random(7).sample(wanted, 25)
    assert [probe(spark, name) for name in some] == [known_functions()[name] for name in some]
