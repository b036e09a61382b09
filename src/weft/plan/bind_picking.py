"""SELECT over a relation -> relation: WHERE, slides, groups, the columns asked for, DISTINCT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.bodies import Picking
from weft.lang.expressions import expr
from weft.lang.names import shown
from weft.lang.statements import Expr, Item, OrderKey
from weft.plan.bind_exists import Absence
from weft.plan.bind_from import Around, Bodies, Sources
from weft.plan.coercion import is_supported
from weft.plan.functions import is_aggregate
from weft.plan.inwords import in_words
from weft.plan.items import Meant, aliases, at_position, check_names
from weft.plan.nodes import Named
from weft.plan.origins import RelationRows, row_expression
from weft.plan.problems import Problems
from weft.plan.relationgroups import Grouper
from weft.plan.relations import AsOf, Distinct, Kept, Leading, Made, Relation
from weft.plan.relationtree import columns
from weft.plan.rows import refuse_aggregates, refuse_window_columns
from weft.plan.scope import WINDOW_COLUMNS, Scope, column, names_in
from weft.plan.sources import Field, Names, resolve_names, star

_WINDOW_ITEMS = tuple(Named(name, expr(column(name)), "timestamp") for name in WINDOW_COLUMNS)
_WRITTEN = 12  # columns that a help writes out


def bind_picking(body: Picking, around: Around, bind_body: Bodies) -> Relation:
    """The relation that a SELECT is; raises all that is wrong with it."""
    return _Picker(body, around, bind_body).bind()


@dataclass(slots=True)
class _Picker:
    body: Picking
    around: Around
    bind_body: Bodies

    def bind(self) -> Relation:
        body, around = self.body, self.around
        grouped = self._aggregates()
        held = grouped or body.distinct or bool(body.exists) or around.slide is not None
        sources = Sources(replace(around, held=around.held or held), self.bind_body, self._check)
        relation, names = sources.bind(body.source, False)
        names = replace(names, outer=around.outer)
        with in_words(names.words):
            relation = self._where(relation, names, sources.count)
            if around.slide is not None:
                slide = around.slide
                relation = AsOf(relation, slide.every, slide.offset, slide.range, body.place)
                names = replace(names, windowed=True)
            self._check_order()
            return self._grouped(relation, names) if grouped else self._plain(relation, names)

    def _aggregates(self) -> bool:
        body = self.body
        sources = [*(item.expr for item in body.items), *(key.expr for key in body.order_by)]
        sources += [body.having] if body.having is not None else []
        return bool(body.group_by) or any(is_aggregate(node) for one in sources for node in one.tree.walk())

    def _rows(self, relation: Relation) -> RelationRows:
        return RelationRows(Scope("", columns(relation), ""), self.around.declared.told, relation)

    def _check(self, condition: Expr, relation: Relation, names: Names, clause: str) -> None:
        """Raise unless it is a condition over the relation."""
        with in_words(names.words):
            self._rows(relation).check_condition(condition, clause)

    def _where(self, relation: Relation, names: Names, first: int) -> Relation:
        body = self.body
        if body.where is not None:
            self._refuse_aliases(body.where, names)
            where = resolve_names(body.where, replace(names, windowed=self.around.slide is not None))
            refuse_window_columns(
                where, "WHERE", help="put it into HAVING, or use the event time of the rows"
            )
            refuse_aggregates(
                where, "misplaced-aggregate", "WHERE is about single rows and cannot hold an aggregate",
                help="put conditions on aggregates in HAVING",
            )  # fmt: skip
            self._check(where, relation, names, "WHERE")
            relation = Kept(relation, where, where.place)
        absence = Absence(self.around, self.bind_body, self._check)
        for exists in body.exists:
            relation = absence.bind(exists, relation, names, first)
        return relation

    def _refuse_aliases(self, where: Expr, names: Names) -> None:
        """Raise where WHERE uses a name that SELECT gives."""
        known = {field.name.lower() for field in names.fields}
        given = {item.alias.lower(): item.expr for item in self.body.items if item.alias is not None}
        for node in where.tree.find_all(exp.Column):
            item = None if node.table or node.name.lower() in known else given.get(node.name.lower())
            if item is not None:
                raise QueryError(
                    "alias-in-where",
                    f"WHERE cannot use `{node.name}`, a name that SELECT gives",
                    at=where.place,
                    because="WHERE comes before SELECT",
                    help=f"repeat it, {item.sql}, or put conditions on aggregates in HAVING",
                )

    def _check_order(self) -> None:
        """Raise where rows are ordered of which there are more all the time."""
        body = self.body
        if not body.order_by and body.limit is None:
            return
        word = "ORDER BY" if body.order_by else "LIMIT"
        at = body.order_by[0].expr.place if body.order_by else body.place
        if self.around.slide is None:
            raise QueryError(
                "order-without-slide", f"{word} needs windows with SLIDE", at=at,
                because="the first of which rows, as of when?",
                help="write the same SLIDE in all windows: [RANGE 1 MINUTE SLIDE 10 SECONDS]",
            )  # fmt: skip
        if body.limit is None:
            raise QueryError(
                "order-without-limit", "ORDER BY without LIMIT says nothing here", at=at,
                because="the rows of an answer have no order", help="add LIMIT, or remove it",
            )  # fmt: skip

    def _items(self, names: Names, problems: Problems) -> tuple[Meant, ...]:
        found: list[Meant] = []
        for item in self.body.items:
            found += problems.attempt(self._item, item, names, found) or ()
        check_names(found, problems)
        return tuple(found)

    def _item(self, item: Item, names: Names, before: Sequence[Meant]) -> tuple[Meant, ...]:
        tree = item.expr.tree
        if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
            if self._aggregates():
                raise QueryError(
                    "star-in-aggregate", "`*` cannot be selected beside aggregates", at=item.expr.place,
                    because="an answer has group keys and aggregates, not rows",
                    help="name the group keys and aggregates that you want",
                )  # fmt: skip
            qualifier = tree.table if isinstance(tree, exp.Column) else ""
            place = item.expr.place or self.body.place
            fields = star(qualifier, names, place)
            _check_star(fields, place)
            return tuple(Meant(field.name, None, replace(field.expr, place=place)) for field in fields)
        meant = resolve_names(item.expr, names, aliases(before))
        return (Meant(item.alias or _name(item.expr, meant, names), item.alias, meant),)

    def _plain(self, relation: Relation, names: Names) -> Relation:
        """Rows as they are, without groups."""
        body, problems = self.body, Problems()
        if body.having is not None:
            problems.add(
                QueryError(
                    "needs-aggregate", "HAVING needs an aggregate", at=body.having.place, help="use WHERE"
                )
            )
        items = self._items(names, problems)
        problems.raise_any()
        rows = self._rows(relation)
        named = [problems.attempt(_typed, item, rows) for item in items]
        problems.raise_any()
        if body.limit is not None and not body.distinct:
            order = tuple(self._order_key(key, items, names, rows) for key in body.order_by)
            relation = Leading(relation, order, body.limit, body.place)
        return self._made(relation, [one for one in named if one is not None], items)

    def _order_key(self, key: OrderKey, items: Sequence[Meant], names: Names, rows: RelationRows) -> OrderKey:
        found = at_position(key.expr, items, "ORDER BY")
        found = found or resolve_names(key.expr, names, aliases(items), alias_first=True)
        rows.check(found)
        return replace(key, expr=found)

    def _grouped(self, relation: Relation, names: Names) -> Relation:
        body, problems = self.body, Problems()
        items = self._items(names, problems)
        problems.raise_any()
        grouper = Grouper(body, names, items, self._rows(relation))
        above, named = grouper.bind(relation, self.around.declared.told)
        return self._made(above, named, items)

    def _made(self, relation: Relation, named: Sequence[Named], items: Sequence[Meant]) -> Relation:
        """The columns asked for, those of the window before them."""
        body = self.body
        names = {one.name.lower() for one in named}
        windowed = _WINDOW_ITEMS if self.around.slide is not None else ()
        made: Relation = Made(
            relation, (*(one for one in windowed if one.name not in names), *named), body.place
        )
        if not body.distinct:
            return made
        check_comparable(made, "DISTINCT")
        made = Distinct(made, body.place)
        if body.limit is None:
            return made
        order = tuple(_of_answer(key, items) for key in body.order_by)
        return Leading(made, order, body.limit, body.place)


def _name(written: Expr, meant: Expr, names: Names) -> str:
    """What an item without alias is called: a column as it is declared, all else as it is written."""
    tree = written.tree
    if not isinstance(tree, exp.Column):
        return written.sql.lower()
    spelled = {field.expr.sql: field.name for field in names.fields}
    return spelled.get(meant.sql, tree.name)


def _typed(item: Meant, rows: RelationRows) -> Named:
    rows.check(item.expr)
    return Named(item.name, item.expr, known_type(item.expr, rows))


def known_type(source: Expr, rows: RelationRows) -> str | None:
    """The type; raises where it is of several sources and only Spark could tell it."""
    found = rows.type(source)
    assert rows.relation is not None
    types = rows.scope.types
    unknown = any(types.get(name) is None for name in names_in(source))
    if found is None and not unknown and row_expression(source, rows.relation) is None:
        raise QueryError(
            "unknown-type", f"the type of `{source.sql}` cannot be told", at=source.place,
            because="it is about several sources", help=f"say it: CAST({source.sql} AS ...)",
        )  # fmt: skip
    return found


def check_comparable(relation: Relation, what: str) -> None:
    """Raise where rows cannot be told apart by one of their columns."""
    for one in columns(relation):
        if not is_supported(one.type):
            raise QueryError(
                "unsupported-type", f"{what} compares whole rows, but `{one.name}` is of type {one.type}",
                at=relation.place, help="select numbers, strings, booleans, dates or timestamps",
            )  # fmt: skip


def _of_answer(key: OrderKey, items: Sequence[Meant]) -> OrderKey:
    """With DISTINCT the rows of the answer are ordered, by columns of theirs."""
    found = at_position(key.expr, items, "ORDER BY")
    for item in items:
        if found is item.expr or (found and found == item.expr) or key.expr.sql.lower() == item.name.lower():
            return replace(key, expr=expr(column(item.name), key.expr.place))
    raise QueryError(
        "order-by-hidden", "with DISTINCT rows are ordered by what is selected", at=key.expr.place,
        because="there may be many values of it for one row of the answer", help="add it to the SELECT list",
    )  # fmt: skip


def _check_star(fields: Sequence[Field], place: Place | None) -> None:
    """Raise where `*` gives several columns of one name: with all of them written out, under other names."""
    counts = Counter(field.name.lower() for field in fields)
    double = list(dict.fromkeys(field.name for field in fields if counts[field.name.lower()] > 1))
    if not double:
        return
    seen: set[str] = set()
    written = []
    for field in fields:
        own = f"{shown(field.qualifier)}.{shown(field.name)}" if field.qualifier else shown(field.name)
        other = shown(f"{field.qualifier}_{field.name}")
        written.append(f"{own} AS {other}" if field.name.lower() in seen else own)
        seen.add(field.name.lower())
    several = ", ".join(f"`{name}`" for name in double)
    more = ", ..." if len(written) > _WRITTEN else ""
    raise QueryError(
        "duplicate-column", f"`*` gives more than one column called {several}", at=place,
        because="every column of an answer has a name of its own",
        help=f"write them out: SELECT {', '.join(written[:_WRITTEN])}{more}",
    )  # fmt: skip
