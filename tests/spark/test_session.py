"""The settings of a session that weft makes: whose go before whose."""

from __future__ import annotations

import pytest

from weft.spark.session import LOOPBACK, MEANING, START, choose


def test_what_is_asked_for_goes_before_what_weft_would_choose() -> None:
    chosen = choose("local[3]", {"spark.ui.enabled": "true", "spark.app.name": "mine"}, {})
    assert chosen["spark.master"] == "local[3]"
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert (chosen["spark.ui.enabled"], chosen["spark.app.name"]) == ("true", "mine")
    assert chosen.items() >= MEANING.items()


def test_what_spark_submit_was_told_stays() -> None:
    submitted = {
        "spark.master": "yarn",
        "spark.app.name": "app",
        "spark.executor.memory": "4g",
        "spark.sql.session.timeZone": "Europe/Berlin",  # is then refused: it would change answers
    }
    chosen = choose(None, {"spark.sql.shuffle.partitions": "64"}, submitted)
    assert chosen.items() >= submitted.items()
    assert chosen["spark.sql.shuffle.partitions"] == "64"
    assert not chosen.keys() & {*START, *LOOPBACK, "spark.driver.extraJavaOptions"}  # its JVM runs already


@pytest.mark.parametrize(
    ("master", "local"), [(None, True), ("local[2]", True), ("spark://host:7077", False), ("yarn", False)]
)
def test_only_a_driver_without_a_cluster_is_at_localhost(master: str | None, local: bool) -> None:
    assert (choose(master, {}, {}).keys() >= LOOPBACK.keys()) == local
