"""One SELECT in the making: stages that are named once each, over the histories of streams and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Column, Flow, Named, Stream, Table
from weft.plan.relations import Entries, Relation, Rows
from weft.plan.relationtree import changes_for, columns
from weft.reference.dialect import Dialect
from weft.times import Instant

AT = "_weft_at"  # the instant as of which a row is there
BORN, ENDS = (
    "_weft_born",
    "_weft_ends",
)  # the life of a row: when it began, and when it ends if nothing else does
LIFE = (AT, BORN, ENDS)
UNTIL = "_weft_until"  # when a row leaves its window, which ends no life where the window is internal
FROM, TO = "_weft_from", "_weft_to"  # of a table's rows: whole microseconds, TO null while it is in force
NEVER: Instant = 2**63 - 1
_CAME = "_weft_came"  # the order in which changes came, then how many of the same time came after
EVER: Instant = -(2**62)  # FROM of what a table held from the beginning


@dataclass(frozen=True, slots=True)
class Script:
    """What a relation is read from, and the stages written so far.

    `after`: rows later than this alone, and of tables that are made of changes what is in force later.
    `span`: only instants from the first up to the second are told of. `late`: the column of streams that says
    how far they were complete when a row came, which is there from then on.
    """

    engine: Dialect
    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    upto: Instant | None = None
    after: Mapping[str, Instant] = field(default_factory=dict)
    span: tuple[Instant, Instant] | None = None
    late: str | None = None
    first: Mapping[str, Instant] | None = None  # when the first rows came; None: they are among those given
    stages: dict[str, str] = field(default_factory=dict)  # SQL -> name, so that equal stages are one

    def stage(self, sql: str) -> str:
        """The name of the stage that says this."""
        return self.stages.setdefault(sql, f"r{len(self.stages)}")

    def select(self, sql: str) -> str:
        """The whole SELECT, `sql` its last part."""
        lines = ",\n".join(f"  {name} AS ({stage})" for stage, name in self.stages.items())
        return f"WITH\n{lines}\n{sql}"

    def names(self, relation: Relation, of: str = "") -> list[str]:
        """The columns of the relation as SQL writes them, those of the stage `of`."""
        prefix = f"{of}." if of else ""
        return [prefix + self.engine.quote(column.name) for column in columns(relation)]

    def anew(self, sql: str, own: Sequence[str]) -> str:
        """The stage of rows that have no life of their own, with columns for it."""
        life = f"{AT}, CAST(NULL AS BIGINT) AS {BORN}, CAST(NULL AS BIGINT) AS {ENDS}"
        return self.stage(f"SELECT {', '.join([life, *own])} FROM {self.stage(sql)}")

    def kept(
        self, source: str, carried: Sequence[str], predicate: Expr | None, known: Iterable[Column]
    ) -> str:
        """The stage with the rows of `source` for which `predicate` is true; it fails on none of them."""
        if predicate is None:
            return source
        shown = ", ".join(carried)
        asked = self.engine.checked(source, shown, {"_weft_passes": predicate}, types_of(known))
        return self.stage(f"SELECT {shown} FROM {self.stage(asked)} WHERE _weft_passes")

    def made(
        self, source: str, carried: Sequence[str], items: Sequence[Named], known: Iterable[Column]
    ) -> str:
        """The stage with the columns `items` of the rows of `source`, behind those that are carried along."""
        wanted = {f"_i{number}": item.expr for number, item in enumerate(items)}
        checked = self.stage(self.engine.checked(source, ", ".join(carried), wanted, types_of(known)))
        named = [f"{name} AS {self.engine.quote(item.name)}" for name, item in zip(wanted, items)]
        return self.stage(f"SELECT {', '.join([*carried, *named])} FROM {checked}")

    def rows(self, leaf: Rows) -> str:
        """The rows of a stream with BORN, ENDS and UNTIL."""
        stream, engine = self.streams[leaf.stream], self.engine
        time = engine.quote(stream.statement.time_column)
        born = engine.micros(time) if self.late is None else f"GREATEST({engine.micros(time)}, {self.late})"
        until = NEVER if leaf.range is None else f"{engine.micros(time)} + {leaf.range}"
        ends = NEVER if leaf.internal else until
        bound = self.after.get(leaf.stream)
        since = "" if bound is None else f" AND {engine.micros(time)} > {bound}"
        since += "" if self.late is None else f" AND {born} < {until}"
        columns = [engine.quote(column.name) for column in stream.columns]
        columns += [f"{born} AS {BORN}", f"{ends} AS {ENDS}", f"{until} AS {UNTIL}"]
        table = engine.quote(leaf.stream)
        source = self.stage(f"SELECT {', '.join(columns)} FROM {table} WHERE {time} IS NOT NULL{since}")
        return self._passing(source, [BORN, ENDS, UNTIL], leaf, stream.columns)

    def first_row(self, streams: Sequence[str]) -> str:
        """When the first row of these streams came, or from when on rows are seen: SQL of one number."""
        bounds = [self.after[name] + 1 for name in streams if name in self.after]
        if bounds:
            return f"CAST({max(bounds)} AS BIGINT)"
        if self.first is not None:
            came = [str(self.first[name]) for name in streams if name in self.first]
            return f"CAST({min(came, key=int, default='NULL')} AS BIGINT)"
        return f"(SELECT MIN({AT}) FROM {self.stage(' UNION ALL '.join(map(self._times, streams)))})"

    def last_change(self, relation: Relation) -> str:
        """When the last row of its streams comes or leaves its window: SQL of one number."""
        each = [
            f"SELECT MAX({AT}) + {duration} AS {AT} FROM {self.stage(self._times(stream))}"
            for stream, duration in changes_for(relation).items()
        ]
        return f"(SELECT MAX({AT}) FROM {self.stage(' UNION ALL '.join(each))})"

    def _times(self, stream: str) -> str:
        """SELECT of when the rows of a stream came."""
        table, time = map(self.engine.quote, (stream, self.streams[stream].statement.time_column))
        return f"SELECT {self.engine.micros(time)} AS {AT} FROM {table} WHERE {time} IS NOT NULL"

    def spanned(self, instants: str) -> str:
        """Those of the instants that are told of, and the last one before, from which what is new differs."""
        if self.span is None:
            return instants
        first, last = self.span
        before = self.stage(f"SELECT MAX({AT}) AS {AT} FROM {instants} WHERE {AT} < {first}")
        return self.stage(
            f"SELECT {AT} FROM {instants} WHERE {AT} >= {first} AND {AT} < {last} "
            f"UNION ALL SELECT {AT} FROM {before} WHERE {AT} IS NOT NULL"
        )

    def versions(self, leaf: Entries) -> str:
        """The rows that a table ever had, with FROM and TO."""
        table = self.tables[leaf.table]
        source = self.engine.quote(leaf.table) if table.flow is None else self._changes(table, table.flow)
        return self._passing(source, [FROM, TO], leaf, table.columns)

    def _changes(self, table: Table, flow: Flow) -> str:
        """Every row of a stream that is no deletion, from its time until the next with the same key."""
        quote, time = self.engine.quote, self.streams[flow.stream].statement.time_column
        own = [quote(column.name) for column in table.columns]
        key = ", ".join(map(quote, flow.key))
        rows = self.stage(
            f"SELECT {', '.join(own)}, {self.engine.arrival()} AS {_CAME}, "
            f"{self.engine.micros(quote(time))} AS {FROM} FROM {quote(flow.stream)} "
            f"WHERE {quote(time)} IS NOT NULL"
        )
        last = f"ROW_NUMBER() OVER (PARTITION BY {FROM}, {key} ORDER BY {_CAME} DESC) AS {_CAME}"
        ranked = self.stage(f"SELECT {', '.join([FROM, *own])}, {last} FROM {rows}")
        until = f"LEAD({FROM}) OVER (PARTITION BY {key} ORDER BY {FROM}) AS {TO}"
        lived = self.stage(f"SELECT {', '.join([FROM, *own])}, {until} FROM {ranked} WHERE {_CAME} = 1")
        if (bound := self.after.get(flow.stream)) is not None:
            lived = self.stage(f"SELECT * FROM {lived} WHERE COALESCE({TO}, {NEVER}) > {bound}")
        if flow.delete is None:
            return lived
        stays = expr(exp.Not(this=exp.func("COALESCE", flow.delete.tree.copy(), exp.false())))
        return self.kept(lived, [FROM, TO, *own], stays, table.columns)

    def _passing(
        self, source: str, carried: Sequence[str], leaf: Rows | Entries, known: Sequence[Column]
    ) -> str:
        own = [self.engine.quote(column.name) for column in known]
        source = self.kept(source, [*carried, *own], leaf.where, known)
        return self.made(source, carried, leaf.items, known)


def types_of(known: Iterable[Column]) -> dict[str, str | None]:
    return {column.name: column.type for column in known}
