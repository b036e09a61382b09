"""Golden files: cases of input and the text that must come out, rewritten by `pytest --update`.

# comment lines and blank lines before a case are kept
input, several lines
---
expected output, several lines
===
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BETWEEN = "---"
END = "==="


@dataclass(frozen=True)
class Case:
    title: str  # its first comment, or its number
    given: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, each ending in a line `===`."""
    found = []
    for number, chunk in enumerate(path.read_text().split(f"\n{END}\n")):
        if chunk.strip():
            given, _, expected = chunk.partition(f"\n{BETWEEN}\n")
            first = given.strip().splitlines()[0]
            title = first.lstrip("# ") if first.startswith("#") else str(number)
            found.append(Case(title, given, expected))
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
