"""Cases run against whatever answers queries: weft itself, or the reference on DuckDB or Spark in batch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from weft.errors import Errors, QueryError, WeftError, nearest
from weft.kernels.arrow import arrow_type
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Column, Program, Project, Query, Related, Stream, Table
from weft.plan.relations import Emitted
from weft.plan.relationtree import columns
from weft.testing.cases import Case, Step
from weft.testing.compare import Row, bounds, difference, in_order
from weft.testing.lives import relation_difference
from weft.testing.values import micros, read_row, read_table, read_time, rows_of, show_row

Named = TypeVar("Named", Query, Stream, Table)


class Adapter(Protocol):
    """Whatever can run a program. `strict_types`: its columns must have exactly the types the plan tells."""

    strict_types: bool

    def start(self, program: str) -> None: ...

    def change(self, program: str) -> None:
        """Go on with this program, which has a query more."""

    def ingest(self, stream: str, rows: pa.Table) -> None:
        """One batch: the columns the source has, in declared order, without computed ones."""

    def revise(self, table: str, rows: pa.Table) -> None:
        """Make these the rows of a table: rows after the greatest time fed so far see them."""

    def drain(self, to: int | None) -> None:
        """Answer all windows that end up to `to`; None: all that hold a row."""

    def results(self, query: str) -> pa.Table:
        """All answers so far."""

    def late(self, query: str) -> int: ...

    def dead(self, query: str) -> int: ...


def bound(text: str) -> Program:
    return bind_program(parse_program(text))


def source_columns(source: Stream | Table) -> dict[str, str]:
    """Names and types of the columns that rows of this stream or table are fed with."""
    return {column.name: column.type for column in source.statement.columns if column.type is not None}


def check(case: Case, adapter: Adapter) -> None:
    """Run the case; raises AssertionError that says which line of the file is not so."""
    refused = next((step for step in case.steps if step.word == "error"), None)
    if refused is not None:
        check_refused(case, refused)
        return
    run = Run(case, adapter)
    for step in case.steps:
        run.take(step)


def check_refused(case: Case, step: Step) -> None:
    try:
        bound(case.program)
    except Errors as errors:
        codes = {error.code for error in errors.errors}
    except WeftError as error:
        codes = {error.code}
    else:
        codes = {"nothing: it is accepted"}
    assert step.args[0] in codes, f"{case.file}:{step.at} refused with {', '.join(codes)}"


class Run:
    """A case under way; with `update` the rows found are kept instead of compared."""

    def __init__(self, case: Case, adapter: Adapter, update: bool = False) -> None:
        self.case, self.adapter, self.update = case, adapter, update
        self.seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.found: dict[int, list[str]] = {}
        self._declare(case.program)
        adapter.start(case.program)

    def _declare(self, program: str) -> None:
        self.text, self.program = program, bound(program)
        self.queries = {query.name: query for query in self.program.queries}
        self.streams = {stream.name: stream for stream in self.program.streams}
        self.tables = {table.name: table for table in self.program.tables}

    def take(self, step: Step) -> None:
        where = f"{self.case.file}:{step.at}"
        match step.word:
            case "feed":
                stream = _named(step, self.streams, where)
                columns = source_columns(stream)
                with _reading(where):
                    table = read_table(step.lines, list(columns), list(columns.values()))
                self.adapter.ingest(stream.name, table)
            case "table":
                declared = _named(step, self.tables, where)
                columns = source_columns(declared)
                with _reading(where):
                    rows = read_table(step.lines, list(columns), list(columns.values()))
                self.adapter.revise(declared.name, rows)
            case "query":
                self._declare("\n".join([self.text, *step.lines]))
                self.adapter.change(self.text)
            case "watermark":
                with _reading(where):
                    to = micros(read_time(step.args[0]))
                self.adapter.drain(to)
            case "drain":
                self.adapter.drain(None)
            case "rows":
                self._rows(_named(step, self.queries, where), step, where)
            case "late" | "dead":
                count = getattr(self.adapter, step.word)(_named(step, self.queries, where).name)
                with _reading(where):
                    wanted = int(step.args[1])
                assert count == wanted, f"{where} {count} {step.word} rows, not {wanted}"
            case word:
                raise AssertionError(f"{where} what is `{word}`?")

    def _rows(self, query: Query, step: Step, where: str) -> None:
        table = self.adapter.results(query.name)
        fresh = self._fresh(query.name, table, where)
        if self.update:
            self.found[step.at] = [show_row(row) for row in in_order(fresh)]
            return
        types = output_types(query, table)
        if self.adapter.strict_types:
            check_types(query, table, where)
        with _reading(where):
            expected = [read_row(line, types) for line in step.lines]
        wrong = _wrong(query, expected, fresh)
        assert not wrong, f"{where} {query.name}: {wrong}"

    def _fresh(self, name: str, table: pa.Table, where: str) -> list[tuple[Any, ...]]:
        """The rows that were not there the last time; those that were must still be there."""
        rows = rows_of(table)
        gone = self.seen[name] - Counter(map(repr, rows))
        assert not gone, f"{where} {name}: answers are final, but these have gone: {list(gone)[:5]}"
        before, fresh = self.seen[name].copy(), []
        for row in rows:
            if before[repr(row)] > 0:
                before[repr(row)] -= 1
            else:
                fresh.append(row)
        self.seen[name] = Counter(map(repr, rows))
        return fresh


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """Whatever cannot be read here is the fault of the case."""
    try:
        yield
    except (ValueError, ArithmeticError, LookupError) as wrong:
        raise QueryError("bad-case", f"{where} cannot be read: {wrong}") from None


def _named(step: Step, known: Mapping[str, Named], where: str) -> Named:
    """The stream or query that a step names first."""
    name = step.args[0] if step.args else ""
    if name not in known:
        kind = {"feed": "stream", "table": "table"}.get(step.word, "query")
        raise QueryError("bad-case", f"{where} there is no {kind} `{name}`", help=nearest(name, known))
    return known[name]


def _wrong(query: Query, expected: Sequence[Row], found: Sequence[Row]) -> str:
    match query.plan:
        case Related(relation=Emitted() as relation):
            return relation_difference(relation, expected, found)
        case _:
            return difference(expected, found, bounds(query))


def output_columns(query: Query) -> tuple[Column, ...]:
    """Names of the answers' columns, and their types as far as they are known."""
    match query.plan:
        case Related(relation=relation):
            return columns(relation)
        case plan:
            assert isinstance(plan, Project)
            return tuple(Column(item.name, item.type) for item in plan.items)


def output_types(query: Query, table: pa.Table) -> list[str]:
    """The type of each output column: as planned, else as found."""
    planned = output_columns(query)
    return [column.type or spark_type(field.type) for column, field in zip(planned, table.schema)]


def check_types(query: Query, table: pa.Table, where: str) -> None:
    known = output_columns(query)
    assert table.column_names == [column.name for column in known], where
    for column, field in zip(known, table.schema):
        planned = arrow_type(column.type) if column.type is not None else field.type
        assert _same_type(field.type, planned), (
            f"{where} {column.name} is {field.type}, planned {column.type}"
        )


def _same_type(one: pa.DataType, other: pa.DataType) -> bool:
    if pa.types.is_list(one) and pa.types.is_list(other):
        return _same_type(one.value_type, other.value_type)
    text = (pa.types.is_string, pa.types.is_large_string)
    return bool(one == other or (any(is_text(one) for is_text in text) and pa.types.is_string(other)))


def spark_type(type: pa.DataType) -> str:
    """Spark's simple name of an Arrow type."""
    if pa.types.is_timestamp(type):
        return "timestamp"
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    if pa.types.is_list(type):
        return f"array<{spark_type(type.value_type)}>"
    names: Mapping[str, str] = {
        "int8": "tinyint",
        "int16": "smallint",
        "int32": "int",
        "int64": "bigint",
        "float": "float",
        "bool": "boolean",
        "date32[day]": "date",
    }
    return names.get(str(type), str(type))


def updated(case: Case, adapter: Adapter) -> Mapping[int, Sequence[str]]:
    """The rows of the case as this adapter finds them, by the line they stand at."""
    run = Run(case, adapter, update=True)
    for step in case.steps:
        if step.word not in ("late", "dead"):
            run.take(step)
    return run.found
