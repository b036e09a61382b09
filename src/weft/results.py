"""Reading the answers of a query from the files that a sink of weft wrote, while the program runs or after.

Files are named by the step they begin with, so their names are their order, and the order of windows. The
last one grows: it is replaced as a whole by one that begins with the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from weft.errors import RunError, nearest
from weft.kernels.arrow import arrow_type
from weft.lang.parse import parse_program
from weft.lang.sinkoptions import FORMATS, FileOptions, file_options
from weft.lang.statements import CreateQuery, CreateRelation, Sink
from weft.log.catalog import Catalog, QueryVersion
from weft.log.durable import entries, find_record
from weft.log.home import Home, file_name
from weft.log.paths import AnyPath, locate

STORE = FileOptions("parquet", "snappy")  # how the result store writes
_FOOTER = 64 << 10  # bytes at the end of a file that usually hold its footer


@dataclass(frozen=True, slots=True)
class Dataset:
    """The answers of one version of a query."""

    query: str
    version: int
    directory: AnyPath
    options: FileOptions = STORE

    def files(self) -> list[AnyPath]:
        """The files there are, oldest answers first; none before the first answer."""
        names = entries(self.directory)
        extension = self.options.extension
        return [
            self.directory / name
            for name in sorted(names)
            if name.startswith("part-") and name.endswith(extension)
        ]


def store(home: AnyPath, query: str, version: int) -> Dataset:
    """Where the result store keeps a version of a query."""
    return Dataset(query, version, home / "results" / file_name(query) / f"v{version}")


def find(home: AnyPath, query: str, version: int | None = None) -> Dataset:
    """The answers of a query, of its newest version unless one is named; by what the home says."""
    known = Catalog(Home.look(home)).all_versions()
    named = [one for one in known if one.name.lower() == query.lower()]
    if not named:
        help = nearest(query, {one.name for one in known}) or "`weft status` lists the queries"
        raise RunError("unknown-query", f"there is no query `{query}` in {home}", help=help)
    found = [one for one in named if version in (None, one.version)]
    if not found:
        there = ", ".join(str(one.version) for one in named)
        raise RunError("unknown-version", f"`{query}` has no version {version}", help=f"there are {there}")
    return _dataset(home, found[-1])


def knows(home: AnyPath, query: str) -> bool:
    """Whether a home has ever had a query of that name."""
    with suppress(RunError):
        return any(one.name.lower() == query.lower() for one in Catalog(Home.look(home)).all_versions())
    return False


def _dataset(home: AnyPath, query: QueryVersion) -> Dataset:
    sink = _sink(query.text)
    if sink is None:
        return store(home, query.name, query.version)
    if sink.format not in FORMATS:
        raise RunError(
            "answers-elsewhere",
            f"the answers of `{query.name}` go INTO {sink.format}, weft keeps none of them",
            help="read them there, or leave out INTO: the result store keeps them",
        )
    # The path in the options may be relative; the sink's own record says it in full.
    position = find_record(home / "delivery" / f"{file_name(query.key)}.json")
    options = {name.lower(): value for name, value in sink.options}
    directory = locate(options["path"] if position is None else position["dataset"])
    return Dataset(query.name, query.version, directory, file_options(sink.format, options))


def _sink(text: str) -> Sink | None:
    (statement,) = parse_program(text)
    assert isinstance(statement, CreateQuery | CreateRelation)
    return statement.sink


def tables(dataset: Dataset) -> Iterator[pa.Table]:
    """All answers, a piece at a time."""
    for file in dataset.files():
        for piece in _open(file, dataset.options):
            yield piece()


def all_answers(dataset: Dataset, columns: Mapping[str, str | None]) -> pa.Table:
    """All answers as one table; if there are none yet, an empty one with these columns and Spark types."""
    found = list(tables(dataset))
    empty = {name: pa.array([], arrow_type(kind)) for name, kind in columns.items()}
    return pa.concat_tables(found, promote_options="permissive") if found else pa.table(empty)


def last(dataset: Dataset, rows: int) -> pa.Table | None:
    """The last `rows` answers, read from the end; None when there are none."""
    found: list[pa.Table] = []
    for file in reversed(dataset.files()):
        for piece in reversed(_open(file, dataset.options)):
            table = piece()
            found.insert(0, table.slice(max(0, table.num_rows - rows)))
            rows -= table.num_rows
            if rows <= 0:
                return _together(found)
    return _together(found)


def total(dataset: Dataset) -> int | None:
    """How many answers there are, where the files tell without being read."""
    if dataset.options.format != "parquet":
        return None
    count = 0
    for file in dataset.files():
        with suppress(FileNotFoundError):
            count += _rows(file)
    return count


@dataclass(slots=True)
class Tail:
    """Answers as they come: each call gives those that were not there at the call before."""

    dataset: Dataset
    _seen: dict[str, int] = field(default_factory=dict)  # rows given, by file

    def skip(self) -> None:
        """Leave out what is there now."""
        self._new(keep=False)

    def new(self) -> pa.Table | None:
        return _together(self._new(keep=True))

    def _new(self, keep: bool) -> list[pa.Table]:
        found = []
        files = self.dataset.files()
        done = max(self._seen, default="")
        for file in (file for file in files if file.name >= done):
            given = self._seen.get(file.name, 0)
            if self.dataset.options.format == "parquet" and _rows(file) == given:
                continue
            table = _together([piece() for piece in _open(file, self.dataset.options)])
            if table is not None:
                self._seen[file.name] = table.num_rows
                if keep and table.num_rows > given:
                    found.append(table.slice(given))
        return found


def version(file: AnyPath) -> int:
    """Another number when the file, which may grow, has been replaced."""
    return file.stat().st_mtime_ns if isinstance(file, Path) else file.size()


def _rows(file: AnyPath) -> int:
    """How many rows a Parquet file has; of one elsewhere, only its end is fetched if that will do."""
    if isinstance(file, Path):
        return int(pq.read_metadata(file).num_rows)
    with suppress(pa.ArrowInvalid, OSError):  # its footer is longer, or it has been replaced just now
        return int(pq.read_metadata(pa.BufferReader(file.read_bytes(-_FOOTER))).num_rows)
    return int(pq.read_metadata(pa.BufferReader(file.read_bytes())).num_rows)


def _open(path: AnyPath, options: FileOptions) -> list[Callable[[], pa.Table]]:
    """The pieces of a file, each to be read when it is called; none if the file has expired meanwhile."""
    try:
        file = path if isinstance(path, Path) else pa.BufferReader(path.read_bytes())
    except FileNotFoundError:
        return []
    if isinstance(path, Path) and not path.exists():
        return []
    match options.format:
        case "json":
            return [lambda: pa.json.read_json(file)]
        case "csv":
            reading = pa.csv.ReadOptions(autogenerate_column_names=not options.header)
            parsing = pa.csv.ParseOptions(delimiter=options.separator)
            converting = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
            return [lambda: pa.csv.read_csv(file, reading, parsing, converting)]
        case _:
            opened = pq.ParquetFile(file)
            return [partial(opened.read_row_group, at) for at in range(opened.num_row_groups)]


def _together(found: list[pa.Table]) -> pa.Table | None:
    return pa.concat_tables(found, promote_options="permissive") if found else None
