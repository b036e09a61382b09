"""The picture of a plan: everything is on it, nothing lies on something else."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.share.test_strands import planned
from tests.unit.share.test_strands import program as in_strands
from weft.cli import cli
from weft.commands.demo import shipped
from weft.lang.parse import parse_program
from weft.lang.statements import WindowSpec
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.session import Session
from weft.share.build import build
from weft.share.draw.bands import MOST, strips
from weft.share.draw.picture import draw
from weft.share.draw.svg import LETTER, fitted
from weft.share.draw.timeline import CLOSEST, timeline
from weft.share.model.forecast import Basis, cost_of
from weft.share.nodes import SharedPlan
from weft.times import HOUR, MINUTE, SECOND

STREAM = """
CREATE STREAM trades (symbol STRING, venue STRING, price DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM parquet OPTIONS ('path' = 'trades');
"""
SVG = "{http://www.w3.org/2000/svg}"


def windowed(name: str, range_: int, slide: int, keys: str = "symbol") -> str:
    return (
        f"CREATE QUERY {name} AS SELECT {keys}, MAX(price) AS high "
        f"FROM trades [RANGE {range_} SECONDS SLIDE {slide} SECONDS] GROUP BY {keys};"
    )


def drawn(text: str) -> ET.Element:
    session = Session()
    session.sql(text)
    return ET.fromstring(session.explain().svg())


def texts(svg: ET.Element) -> list[str]:
    return ["".join(node.itertext()) for node in svg.iter(f"{SVG}text")]


def programs() -> dict[str, str]:
    many = "".join(windowed(f"q{at}", 60 + at, 10 + at % 7) for at in range(2 * MOST))
    return {
        "three": STREAM
        + windowed("a", 60, 5)
        + windowed("b", 3600, 60, "symbol, venue")
        + "CREATE QUERY c AS SELECT price FROM trades WHERE price > 5;",
        "a hundred": shipped().read_text(),
        "too many windows": STREAM + many,
    }


@pytest.mark.parametrize("name", programs())
def test_no_text_lies_on_another_and_none_leaves_the_page(name: str) -> None:
    svg = drawn(programs()[name])
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    spans: dict[float, list[tuple[float, float]]] = {}
    for node in svg.iter(f"{SVG}text"):
        x, y = float(node.attrib["x"]), float(node.attrib["y"])
        long = LETTER * len(node.text or (node[0].tail if len(node) else "") or "")
        left = x - long / 2 if node.attrib["text-anchor"] == "middle" else x
        assert left >= 0
        assert left + long <= width
        assert 0 < y <= height
        spans.setdefault(y, []).append((left, left + long))
    for line in spans.values():
        line.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(line))


def test_queries_of_one_window_and_feed_are_one_band() -> None:
    svg = drawn(STREAM + "".join(windowed(f"q{at}", 60, 5) for at in range(7)) + windowed("odd", 30, 5))
    assert [said for said in texts(svg) if "every 5 s" in said and "slices" not in said] == [
        "30 s every 5 s: odd",
        "1 min every 5 s: 7 queries",
    ]


@pytest.mark.parametrize("sets", ["ROLLUP (symbol, venue)", "GROUPING SETS ((symbol), (venue))"])
def test_bands_add_up_to_what_the_plan_costs(sets: str) -> None:
    """A query with grouping sets is drawn below several feeds, with a part of its cost at each."""
    grouped = windowed("b", 60, 5).replace("GROUP BY symbol", f"GROUP BY {sets}")
    text = STREAM + windowed("a", 60, 5) + grouped
    (plan,) = build(optimize_program(bind_program(parse_program(text)))).streams
    cost = cost_of(plan, Basis())
    assert sum(strip.cost for strip in strips(plan, cost)) == pytest.approx(cost.total)


def test_feeds_of_strands_say_so() -> None:
    plan = planned(in_strands(), 1, 1, 1, 1)
    said = texts(ET.fromstring(draw(SharedPlan((plan,)), Basis())))
    assert "f0, strand 1, by sym" in said
    assert not any("strand" in each for each in texts(drawn(programs()["three"])))


def test_what_is_too_much_is_one_band() -> None:
    said = texts(drawn(programs()["too many windows"]))
    assert sum("other windows" in each for each in said) == 1
    assert sum(" every " in each and ":" in each for each in said) <= MOST


def test_names_are_written_as_they_are() -> None:
    svg = drawn(
        STREAM + "CREATE QUERY q AS SELECT price < 5 AS `a<b` , COUNT(*) AS n FROM trades [RANGE 5 SECONDS] "
        "GROUP BY price < 5;"
    )
    assert "f0 by price < 5" in texts(svg)


def test_a_program_without_queries_is_drawn_as_such() -> None:
    assert texts(drawn(STREAM)) == ["no queries"]


def test_windows_of_seconds_and_of_hours_can_both_be_seen() -> None:
    time = timeline([WindowSpec(10 * SECOND, SECOND), WindowSpec(HOUR, MINUTE)], 0.0, 400.0)
    assert time.x(HOUR) == pytest.approx(0.0)
    assert 400.0 - time.x(SECOND) >= CLOSEST
    ticks = time.ticks([(SECOND, 0)], HOUR)
    assert min(near - far for near, far in itertools.pairwise(ticks)) >= CLOSEST
    assert ticks[0] == time.x(SECOND)


def test_edges_lie_where_windows_start_as_well() -> None:
    time = timeline([WindowSpec(8 * SECOND, 5 * SECOND)], 0.0, 400.0)
    pairs = [(5 * SECOND, 0), (5 * SECOND, 2 * SECOND)]
    assert time.ticks(pairs, 8 * SECOND) == [time.x(age * SECOND) for age in (3, 5, 8)]


def test_what_does_not_fit_ends_in_dots() -> None:
    assert fitted("abc", 100.0) == "abc"
    assert fitted("a" * 100, 10 * LETTER) == "a" * 9 + "…"


def test_the_command_line_draws_into_a_file(tmp_path: Path) -> None:
    program, out = tmp_path / "app.sql", tmp_path / "plan.svg"
    program.write_text(programs()["three"])
    result = CliRunner().invoke(cli, ["explain", str(program), "--svg", str(out)], prog_name="weft")
    assert result.exit_code == 0
    assert result.output == f"drawn into {out}\n"
    assert "1 min every 5 s: a" in texts(ET.parse(out).getroot())
    result = CliRunner().invoke(cli, ["explain", str(program), "--svg", str(tmp_path / "no" / "x.svg")])
    assert result.exit_code == 3
    assert "error[unwritable]" in result.stderr
