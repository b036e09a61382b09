"""What relations may not be put together to, by the rules of Golab (2006), 3.3 and 3.4.

INTERNAL windows and WSTREAM would leave rows in the answer that have become wrong, where that depends on
other rows. An aggregate without SLIDE has one value at a time: there is nothing to have a window over.
"""

from __future__ import annotations

from weft.errors import Place, QueryError
from weft.lang.bodies import JoinKind, SetKind, Span
from weft.plan.lookups import lookup
from weft.plan.relationpatterns import Pattern, has_lives, is_internal, is_outlived, relation_pattern
from weft.plan.relations import (
    AsOf,
    Distinct,
    Entries,
    Grouped,
    Lasting,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import walk, windows


def check_join(kind: JoinKind, left: Relation, right: Relation, place: Place | None) -> None:
    """Raise where a table is joined with what cannot look it up."""
    for table, other, is_left in ((left, right, True), (right, left, False)):
        if not isinstance(table, Entries):
            continue
        if isinstance(other, Entries):
            raise QueryError(
                "table-without-stream",
                f"tables `{table.table}` and `{other.table}` are joined with each other",
                at=place, because="when would their rows be looked up?",
                help="join a stream with the one and then with the other: FROM s JOIN t ON ... JOIN u ON ...",
            )  # fmt: skip
        if relation_pattern(other) is Pattern.STRICT:
            raise QueryError(
                "table-above-strict", f"table `{table.table}` is joined with rows that may be taken back",
                at=place, because="it is looked up once, when a row comes",
                help="join the table with the stream first, in a subquery or earlier in FROM",
            )  # fmt: skip
        if not table.retroactive and not has_lives(other):
            raise QueryError(
                "table-above-distinct", f"table `{table.table}` is looked up by what stands for equal rows",
                at=place, because="it is looked up when a row begins, and equal rows begin at other times",
                help="join the table with the stream first, and use DISTINCT or UNION above that",
            )  # fmt: skip
        if not table.retroactive and _keeps(kind, is_left):
            raise QueryError(
                "table-without-stream", f"rows of table `{table.table}` without a partner have no time",
                at=place, help="turn the join around, or declare the table RETROACTIVE",
            )  # fmt: skip


def _keeps(kind: JoinKind, is_left: bool) -> bool:
    """Does the join keep rows of this side that have no partner?"""
    lefts = (JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)
    return kind in lefts if is_left else kind in (JoinKind.RIGHT, JoinKind.FULL)


def check_lasting(source: Relation, span: Span) -> None:
    """Raise where a window behind a subquery has nothing to hold."""
    if span.internal:
        raise QueryError(
            "bad-window", "INTERNAL stands behind streams, not behind a subquery", at=span.place,
            help="write it in the windows of the subquery",
        )  # fmt: skip
    for node in walk(source):
        if isinstance(node, Grouped) and not isinstance(node.source, AsOf) and not is_internal(node):
            raise QueryError(
                "window-over-value", "a window over an aggregate that has one value at a time", at=span.place,
                because="each value replaces the one before",
                help="write SLIDE or INTERNAL in the windows of the subquery, for all its values",
            )  # fmt: skip


def check_internal(relation: Relation) -> None:
    """Raise where rows of an INTERNAL window would stay though they have become wrong."""
    internal = next((node for node in walk(relation) if isinstance(node, Rows) and node.internal), None)
    wrong = depends_on_others(relation) if internal is not None else None
    if internal is not None and wrong is not None:
        raise QueryError(
            "internal-window", f"INTERNAL does not go with {wrong[0]}", at=wrong[1] or internal.place,
            because="rows that came out would stay after they have become wrong", help="remove INTERNAL",
        )  # fmt: skip
    if is_outlived(relation):
        _check_outlived(relation)


def _check_outlived(relation: Relation) -> None:
    """Raise where some windows are INTERNAL and others are not, and no row says when it ends."""
    lasting = next((each for each in windows(relation) if isinstance(each, Lasting)), None)
    if lasting is not None:
        raise QueryError(
            "internal-window", "a window over a subquery does not go with INTERNAL ones beside it",
            at=lasting.place, because="when it lets go of a row is told by no time of a stream",
            help="remove INTERNAL, or put all of it into the subquery",
        )  # fmt: skip
    if not has_lives(relation):
        external = next(each for each in windows(relation) if not is_internal(each))
        raise QueryError(
            "internal-window", "this window is not INTERNAL, but another of the query is", at=external.place,
            because="of what is aggregated, one would let go and the other would not",
            help="write INTERNAL in all windows, or in none, or add SLIDE",
        )  # fmt: skip


def depends_on_others(relation: Relation) -> tuple[str, Place | None] | None:
    """What makes rows of it depend on other rows, aggregates apart, and where that stands."""
    for node in walk(relation):
        match node:
            case Paired() | Whether() if lookup(node) is not None:
                pass  # what a row found in a table goes with it
            case Entries(retroactive=True, place=place):
                return "a RETROACTIVE table", place
            case Distinct(place=place):
                return "DISTINCT", place
            case Merged(kind=kind, all=all_, place=place) if kind is not SetKind.UNION or not all_:
                return f"{kind.upper()}{' ALL' if all_ else ''}", place
            case Whether(negated=negated, place=place):
                return "NOT EXISTS" if negated else "EXISTS", place
            case Paired(kind=kind, place=place) if kind is not JoinKind.INNER:
                return f"a {kind.upper()} JOIN", place
            case _:
                pass
    return None


def check_tables(relation: Relation) -> None:
    """Raise where a table that rows look up is read by itself."""
    paired = {id(side) for node in walk(relation) for side in _sides(node) if isinstance(side, Entries)}
    for node in walk(relation):
        if isinstance(node, Entries) and not node.retroactive and id(node) not in paired:
            raise QueryError(
                "table-without-stream", f"table `{node.table}` is read by itself", at=node.place,
                because="its rows are looked up by rows of a stream, as of their time",
                help=f"join a stream with it, or write {node.table} RETROACTIVE for rows that come and go",
            )  # fmt: skip


def _sides(node: Relation) -> tuple[Relation, ...]:
    match node:
        case Paired(left=left, right=right):
            return left, right
        case Whether(other=other):
            return (other,)
        case _:
            return ()
