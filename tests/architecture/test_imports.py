"""Who may import whom.

    cli, server -> session -> lang, plan, optimize, share, engine
    spark -> engine -> share, kernels, log
    optimize, share -> plan -> lang
    reference -> plan

and anyone errors, times and collecting, which import nothing of ours but each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

LANGUAGE = {"lang"}
PLANNER = LANGUAGE | {"plan"}
SHARING = PLANNER | {"share"}
ANYONE_MAY = ("errors", "times", "collecting")
# A part may import itself, those that anyone may, and these.
MAY_IMPORT: dict[str, set[str]] = {
    **{part: set() for part in ANYONE_MAY},
    "lang": set(),
    "plan": LANGUAGE,
    "optimize": PLANNER,
    "share": PLANNER,
    "kernels": set(),
    "log": set(),
    "engine": SHARING | {"kernels", "log"},
    "spark": SHARING | {"engine", "kernels", "log", "reference"},
    "reference": PLANNER,
    "results": LANGUAGE | {"engine", "kernels", "log"},
    "testing": PLANNER | {"kernels"},
    "verify": SHARING | {"engine", "log", "reference", "results", "testing"},
    "session": SHARING | {"optimize", "engine", "log", "reference", "results", "kernels", "verify"},
    "__init__": {"session"},
}
# share writes the SQL of sketches, which the kernels that read them define.
EXCEPTIONS = {
    ("share", "weft.kernels.sketches"),
    ("share", "weft.kernels.picks"),  # which groups are picked is said in the kernels' own words
    # When a program starts, Spark tells the types that only it can, and then the plan is optimised.
    ("spark", "weft.optimize.pipeline"),
}
# These may do anything but be imported from below; they reach Spark through the session.
OUTER = {"cli", "commands", "terminal", "doctor", "server", "demo", "submit", "__main__"}
# A planner that explains without a JVM reads no clock and no files, and knows no engine.
IMPURE = {"pyspark", "py4j", "time", "os", "pathlib", "socket", "subprocess", "threading", "random"}
PURE = {"lang", "plan", "optimize", "share"}


@dataclass(frozen=True)
class Import:
    file: str
    part: str  # the first name below weft of the module that imports
    module: str
    line: int
    at_start: bool  # runs when the module is loaded

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"

    @property
    def target(self) -> str | None:
        """The part of weft it imports; None for what is not ours."""
        names = self.module.split(".")
        if names[0] != "weft":
            return None
        return names[1] if len(names) > 1 else "__init__"


def imports_in(text: str, file: str, part: str) -> list[Import]:
    tree = ast.parse(text)
    return [Import(file, part, name, line, start) for name, line, start in _walk(tree, True)]


def _walk(node: ast.AST, at_start: bool) -> Iterator[tuple[str, int, bool]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from ((alias.name, child.lineno, at_start) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert level == 0, "imports are written in full"
                for alias in names:
                    yield _imported(module or "", alias.name), child.lineno, at_start
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _walk(child, False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _walk(child, False)
            case _:
                yield from _walk(child, at_start)


def _imported(module: str, name: str) -> str:
    """The module that `from module import name` loads: the name may be one itself."""
    inner = SOURCE.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


def all_imports() -> list[Import]:
    found: list[Import] = []
    for path in sorted((SOURCE / "weft").rglob("*.py")):
        inside = path.relative_to(SOURCE / "weft")
        part = inside.parts[0].removesuffix(".py")
        found += imports_in(path.read_text(), f"weft/{inside}", part)
    return found


def forbidden(one: Import) -> bool:
    """A part imports what lies above or beside it."""
    if one.target in (None, one.part, *ANYONE_MAY) or one.part in OUTER:
        return False
    if (
        one.part in ("session", "verify", "testing")
        and one.target in ("spark", "terminal")
        and not one.at_start
    ):
        return False
    return one.target not in MAY_IMPORT[one.part] and (one.part, one.module) not in EXCEPTIONS


def impure(one: Import) -> bool:
    return one.part in PURE and one.module.split(".")[0] in IMPURE


def knows_spark(one: Import) -> bool:
    """Only weft.spark may; elsewhere a type annotation, or an import when a program starts, is allowed."""
    return one.module.split(".")[0] in ("pyspark", "py4j") and one.part != "spark" and one.at_start


def test_every_part_has_its_place() -> None:
    parts = {one.part for one in all_imports()}
    assert parts <= MAY_IMPORT.keys() | OUTER


@pytest.mark.parametrize("rule", [forbidden, impure, knows_spark], ids=lambda rule: rule.__name__)
def test_imports(rule) -> None:
    assert [str(one) for one in all_imports() if rule(one)] == []


@pytest.mark.parametrize(
    ("rule", "part", "text"),
    [
        (forbidden, "kernels", "from weft.plan.nodes import Query"),
        (forbidden, "reference", "def f():\n    import weft.share.nodes"),
        (forbidden, "plan", "from weft import session"),
        (forbidden, "times", "import weft.lang.parse"),
        (impure, "share", "import time"),
        (knows_spark, "engine", "from pyspark.sql import DataFrame"),
        (knows_spark, "session", "import pyspark"),
    ],
)
def test_the_rules_catch(rule, part, text) -> None:
    assert any(rule(one) for one in imports_in(text, "x.py", part))


def test_a_type_annotation_is_no_dependency() -> None:
    text = "if TYPE_CHECKING:\n    from pyspark.sql import SparkSession"
    assert not any(knows_spark(one) for one in imports_in(text, "x.py", "session"))
