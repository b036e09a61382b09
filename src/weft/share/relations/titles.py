"""What a node of the graph is, in a few words: of which others, chains or streams it is made."""

from __future__ import annotations

from typing import assert_never

from weft.lang.bodies import SetKind
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationwords import bare, words_in
from weft.plan.shownparts import reworded, show_aggregation, show_clause, show_for
from weft.times import show_duration


def title(relation: Relation, over: tuple[str, ...]) -> str:
    """The node, made of those with the names `over`."""
    if isinstance(relation, Made):
        return f"{over[0]}: {', '.join(bare(item.name) for item in relation.items)}"
    return reworded(_title(relation, over), words_in(relation))


def _title(
    relation: Rows | Entries | Lasting | Kept | Paired | Whether | Distinct | Merged | AsOf | Grouped
    | Leading | Emitted,
    over: tuple[str, ...],
) -> str:  # fmt: skip
    first = over[0] if over else ""
    match relation:
        case Rows(stream=stream, items=items, range=range_, where=where):
            columns = ", ".join(item.expr.sql for item in items)
            return f"{stream} ({columns}) {show_for(range_)}{show_clause('where', where)}"
        case Entries(table=table, where=where):
            return f"table {table}{show_clause('where', where)}"
        case Kept(predicate=predicate):
            return f"{first}{show_clause('where', predicate)}"
        case Paired(kind=kind, on=on):
            return f"{kind} pairs of {', '.join(over)}{show_clause('on', on)}"
        case Whether(on=on, negated=negated):
            other = over[1] if len(over) > 1 else "the table"
            return f"{first} with {'no' if negated else 'a'} partner in {other}{show_clause('on', on)}"
        case Distinct():
            return f"each different row of {first}"
        case Merged(kind=kind, all=all_):
            word = "all rows of" if kind is SetKind.UNION else f"{kind}{' all' if all_ else ''} of"
            return f"{word} {', '.join(over)}"
        case Grouped(keys=keys, aggregations=calls):
            by = f" by {', '.join(key.expr.sql for key in keys)}" if keys else ""
            return f"{first} grouped{by}: {', '.join(map(show_aggregation, calls))}"
        case AsOf(slide=slide):
            return f"{first} as of every {show_duration(slide)}"
        case Lasting(range=range_):
            return f"{first}, each row {show_for(range_)}"
        case Leading(limit=limit):
            return f"first {limit} of {first}"
        case Emitted(emission=emission):
            return f"{emission} of {first}"
        case _:
            assert_never(relation)
