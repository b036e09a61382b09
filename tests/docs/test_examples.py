"""What the docs show is true: examples bind, links lead somewhere, the demo shows what it is said to show."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import FUNCTIONS, Aggregate, Program, Top, Window
from weft.plan.tree import walk
from weft.share.explain import explain_program
from weft.times import HOUR, SECOND

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
WITH_SQL = [page for page in PAGES if "```sql" in page.read_text()]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_SQL, ids=name)
def test_the_sql_of_a_page_is_a_program(page: Path) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)
    assert bind_program(parse_program("\n".join(blocks), page.name)).queries


@pytest.mark.parametrize("page", WITH_SQL, ids=name)
def test_python_examples_compile(page: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        compile(block, page.name, "exec")


def test_the_explain_page_shows_what_explain_says() -> None:
    page = (ROOT / "docs" / "explain.md").read_text()
    blocks = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    program = optimize_program(bind_program(parse_program("\n".join(blocks[:2]))))
    shown = {line.strip() for line in page.splitlines()}
    said = explain_program(program).splitlines() + explain_program(program, "slow").splitlines()
    assert [line for line in said if line.strip() not in shown] == []


def test_the_explain_page_shows_nothing_that_explain_does_not_say() -> None:
    """Of the statements above each block; only what a run has said is not said again."""
    blocks: list[str] = []
    shown = 0
    for part in re.split(r"(```.*?```)", (ROOT / "docs" / "explain.md").read_text(), flags=re.DOTALL):
        if part.startswith("```sql"):
            blocks.append(part.removeprefix("```sql").removesuffix("```"))
        elif outputs := re.findall(r"(?<!<!-- of a run -->\n\n)(?<=\n\n)((?: {4}.*\n)+)", part):
            said = all_said(blocks)
            lines = [line for output in outputs for line in output.splitlines()]
            assert [line for line in lines if line.strip() not in said] == []
            shown += len(lines)
    assert shown > 100


def all_said(blocks: list[str]) -> set[str]:
    """The lines that EXPLAIN and EXPLAIN name say of a program."""
    program = optimize_program(bind_program(parse_program("\n".join(blocks))))
    asked = [None, *(query.name for query in program.queries)]
    return {line.strip() for name in asked for line in explain_program(program, name).splitlines()}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def market() -> Program:
    text = (ROOT / "src" / "weft" / "demo" / "market.sql").read_text()
    return bind_program(parse_program(text, "market.sql"))


def test_the_demo_has_about_a_hundred_queries_of_all_kinds(market: Program) -> None:
    nodes = list(chain.from_iterable(walk(query.plan) for query in market.queries))
    aggregates = [node for node in nodes if isinstance(node, Aggregate)]
    assert 95 <= len(market.queries) <= 110
    assert {a.function for node in aggregates for a in node.aggregations} == set(FUNCTIONS)
    assert {tuple(key.expr.sql for key in node.keys) for node in aggregates} >= {
        ("symbol",), ("venue",), ("symbol", "venue"), ("side",), (),
    }  # fmt: skip
    assert any(a.filter is not None for node in aggregates for a in node.aggregations)
    assert any(isinstance(node, Top) for node in nodes)


def test_the_windows_of_the_demo_are_mixed(market: Program) -> None:
    nodes = chain.from_iterable(walk(query.plan) for query in market.queries)
    windows = {node.window for node in nodes if isinstance(node, Window)}
    assert {1, 2, 5, 7, 10, 15, 30, 60} <= {window.slide // SECOND for window in windows}
    assert min(window.range for window in windows) == 10 * SECOND
    assert max(window.range for window in windows) == HOUR
    assert any(window.slide > window.range for window in windows)
    assert any(window.offset for window in windows)


def test_the_filters_of_the_demo_are_a_dozen(market: Program) -> None:
    wheres = [query.statement.select.where for query in market.queries]
    assert len({where.sql for where in wheres if where is not None}) >= 12


def test_every_dependency_is_pinned_within_its_range() -> None:
    pins = dict(
        line.lower().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pins[wanted.name]), text


def test_constraints_name_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line) for line in lines)
