"""The `.test` format: what stands in a file, and how its expected rows are rewritten.

    # A comment.
    case a window is answered once              a file without one is a single case
    stream trades (sym STRING, at TIMESTAMP)    TIMESTAMP BY (the last timestamp), DELAY (0) may follow
    query fast                                  SQL up to the next directive
    SELECT COUNT(*) FROM trades [RANGE 10 SECONDS]
    feed trades                                 one batch, a row a line
    A 10:00:01
    table names                                 from now on the table has these rows; it begins empty
    A Acme
    watermark 10:00:10                          answer what ends up to here
    drain                                       answer every window that holds a row
    rows fast                                   what has been answered since the last `rows fast`
    10:00:00 10:00:10 1
    late fast 1                                 rows too late for a window already answered
    dead fast 0                                 rows on which an expression of the query fails
    error unknown-column                        the program is refused with this code
    oracle spark                                DuckDB judges this case differently: Spark in batch does
    oracle none                                 no SQL says it: the rows are written by hand

A case begins with its streams and queries; feeds and what is expected follow in the order they happen. A
query that stands among those is added to the program then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.errors import QueryError
from weft.testing.values import DIRECTIVES

_SHORT = re.compile(r"stream\s+(\w+)\s*(\(.*\))\s*(.*)", re.DOTALL)
_TIME = re.compile(r"(\w+)\s+TIMESTAMP\b", re.IGNORECASE)
_DECLARING = ("stream", "create", "query")
_WITHOUT_HEAD = ("case", "feed", "table", "watermark", "rows", "late", "dead", "error", "oracle", "query")


@dataclass(frozen=True, slots=True)
class Step:
    """A directive, its words, and the lines under it; `at` is where those begin in the file."""

    word: str
    args: tuple[str, ...]
    lines: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    name: str
    program: str
    steps: tuple[Step, ...]
    oracle: str

    @property
    def id(self) -> str:
        return f"{Path(self.file).stem}: {self.name}"

    @property
    def refused(self) -> bool:
        """The program is expected not to start."""
        return any(step.word == "error" for step in self.steps)


def read_cases(path: Path, program: str = "") -> list[Case]:
    """All cases of a file; `program` comes before what they declare themselves."""
    steps = _steps(path.read_text().splitlines())
    starts = [i for i, step in enumerate(steps) if step.word == "case"]
    if not starts:
        return [_case(path, path.stem, steps, program)]
    ends = [*starts[1:], len(steps)]
    return [_case(path, " ".join(steps[a].args), steps[a + 1 : b], program) for a, b in zip(starts, ends)]


def _steps(lines: Sequence[str]) -> list[Step]:
    steps: list[Step] = []
    for number, line in enumerate(lines):
        text = line.rstrip()
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        word = text.split()[0]
        if word in DIRECTIVES or word.upper() == "CREATE":
            head = () if word in _WITHOUT_HEAD else (text,)
            steps.append(Step(word.lower(), tuple(text.split()[1:]), head, number + 1))
        elif not steps:
            raise QueryError(
                "bad-case",
                f"line {number + 1} is no directive: {text}",
                help="a case begins with `feed`, `case`, `stream` or `query`",
            )
        else:
            last = steps[-1]
            steps[-1] = Step(last.word, last.args, (*last.lines, text), last.at)
    return steps


def _case(path: Path, name: str, steps: Sequence[Step], program: str) -> Case:
    oracle = next((step.args[0] for step in steps if step.word == "oracle"), "duckdb")
    steps = [step for step in steps if step.word != "oracle"]
    begun = next((i for i, step in enumerate(steps) if step.word not in _DECLARING), len(steps))
    statements = [_statement(step) for step in steps[:begun]]
    return Case(
        path.name, name, "\n".join([program, *statements]), tuple(map(_action, steps[begun:])), oracle
    )


def _action(step: Step) -> Step:
    """The step; of one that declares something, its line is the whole statement."""
    return replace(step, lines=(_statement(step),)) if step.word in _DECLARING else step


def _statement(step: Step) -> str:
    text = "\n".join(step.lines).strip().rstrip(";")
    match step.word:
        case "query":
            return f"CREATE QUERY {step.args[0]} AS\n{text};"
        case "stream":
            return _stream(text)
        case _:
            return f"{text};"


def _stream(text: str) -> str:
    """A whole CREATE STREAM from the short form."""
    match = _SHORT.fullmatch(text)
    assert match, text
    name, columns, clauses = match.groups()
    if "TIMESTAMP BY" not in clauses.upper():
        times = _TIME.findall(columns)
        assert times, f"no TIMESTAMP column: {text}"
        clauses = f"TIMESTAMP BY {times[-1]} {clauses}"
    if "DELAY" not in clauses.upper():
        clauses += " DELAY 0 SECONDS"
    if "MAX AHEAD" not in clauses.upper():
        clauses += " MAX AHEAD OFF"
    return f"CREATE STREAM {name} {columns} {clauses} FROM parquet OPTIONS ('path' = 'rows');"


def rewrite(path: Path, found: Mapping[int, Sequence[str]]) -> None:
    """Put the lines found in place of those under the directives at these lines of the file."""
    lines = path.read_text().splitlines()
    for at in sorted(found, reverse=True):
        end = at
        while end < len(lines) and lines[end].strip() and not _is_directive(lines[end]):
            end += 1
        lines[at:end] = found[at]
    path.write_text("\n".join(lines) + "\n")


def _is_directive(line: str) -> bool:
    return line.split(maxsplit=1)[0] in DIRECTIVES or line.startswith("#")
