"""Golden files: cases of input and the text that must come out, rewritten by `pytest --update`.

    -- what the case is about
    input, several lines
    ---
    expected output, several lines
    ===

The comment belongs to the input, where SQL skips it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BETWEEN = "---"
END = "==="


@dataclass(frozen=True)
class Case:
    title: str
    given: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, each ending in a line `===`."""
    found = []
    for chunk in path.read_text().split(f"\n{END}\n"):
        if chunk.strip():
            given, _, expected = chunk.partition(f"\n{BETWEEN}\n")
            found.append(Case(given.strip().splitlines()[0].lstrip("- "), given, expected))
    return found


def check_file(path: Path, produce: Callable[[str], str], update: bool) -> None:
    """Every case of the file comes out as it says; with `update`, the file is made to say so."""
    cases = read_cases(path)
    assert cases, f"{path} has no cases"
    produced = [produce(case.given).rstrip() for case in cases]
    if update:
        chunks = (f"{case.given}\n{BETWEEN}\n{text}\n{END}\n" for case, text in zip(cases, produced))
        path.write_text("".join(chunks))
        return
    for case, text in zip(cases, produced):
        assert text == case.expected.rstrip(), f"{path.name}: {case.title}"
