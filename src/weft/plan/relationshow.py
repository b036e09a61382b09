"""A relation as text: one line a node, the last first, each ending in its update pattern.

    Emitted lives                                             weak
      Made: symbol = trades.symbol                            weak
        Paired inner on trades.symbol = quotes.symbol         weak
          Rows trades for 1 min: symbol                       weakest
          Rows quotes for 5 s: symbol                         weakest

The rows that are asked for by a Whether stand below the rows that ask. What columns are called is said by
`weft.plan.relationwords`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from weft.plan.nodes import Named
from weft.plan.relationpatterns import relation_pattern
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
from weft.plan.relationtree import below
from weft.plan.relationwords import Words, bare, words_in
from weft.plan.shownparts import WIDE, reworded, show_aggregation, show_clause, show_for, show_order_key
from weft.times import show_duration


def relation_lines(relation: Relation, depth: int) -> Iterator[tuple[str, str]]:
    """A line for each node, and its update pattern; a long node is spread over lines without."""
    indent, label = "  " * depth, str(relation_pattern(relation))
    head, parts = _parts(relation)
    whole = indent + _joined(head, parts)
    if len(whole) <= WIDE:
        yield whole, label
    else:
        yield indent + head, label
        yield from ((f"{indent}    {part}", "") for part in parts)
    for each in below(relation):
        yield from relation_lines(each, depth + 1)


def show_relation_node(relation: Relation) -> str:
    """The node itself, in one line, without what is below it."""
    return _joined(*_parts(relation))


def _joined(head: str, parts: Sequence[str]) -> str:
    return f"{head}: {', '.join(parts)}" if parts else head


def _parts(relation: Relation) -> tuple[str, list[str]]:
    """What the node is, and what it makes."""
    words = words_in(relation)
    match relation:
        case Rows(stream, items, where, range_, internal):
            lasts = f"{show_for(range_)}{' internal' if internal else ''}"
            return f"Rows {stream} {lasts}{show_clause('where', where)}", [item.expr.sql for item in items]
        case Entries(table, items, where, retroactive, stream):
            seen = "retroactive" if retroactive else "as of each row"
            name = table if stream is None else f"{table} of changes of {stream}"
            return f"Entries {name} {seen}{show_clause('where', where)}", [item.expr.sql for item in items]
        case Made(items=items):
            return "Made", [_item(item, words) for item in items]
        case Grouped(keys=keys, aggregations=calls):
            by = f" by {', '.join(key.expr.sql for key in keys)}" if keys else ""
            return reworded(f"Grouped{by}", words), [
                reworded(show_aggregation(call), words) for call in calls
            ]
        case _:
            return reworded(_head(relation), words), []


def _head(
    relation: Lasting | Kept | Paired | Whether | Distinct | Merged | AsOf | Leading | Emitted,
) -> str:
    match relation:
        case Lasting(range=range_):
            return f"Lasting {show_for(range_)}"
        case Kept(predicate=predicate):
            return f"Kept {predicate.sql}"
        case Paired(kind=kind, on=on):
            return f"Paired {kind}{show_clause('on', on)}"
        case Whether(on=on, negated=negated):
            return f"Whether {'none' if negated else 'any'}{show_clause('on', on)}"
        case Distinct():
            return "Distinct"
        case Merged(kind=kind, all=all_):
            return f"Merged {kind}{' all' if all_ else ''}"
        case AsOf(slide=slide, offset=offset, range=range_):
            shift = f" offset {show_duration(offset)}" if offset else ""
            return f"AsOf every {show_duration(slide)}{shift}, windows of {show_duration(range_)}"
        case Leading(order=order, limit=limit):
            by = f" by {', '.join(map(show_order_key, order))}" if order else ""
            return f"Leading {limit}{by}"
        case Emitted(emission=emission):
            return f"Emitted {emission}"
        case _:
            assert_never(relation)


def _item(item: Named, words: Words) -> str:
    """`qty = trades.qty`; a word that is passed on under its own name says all."""
    name, word = bare(item.name), reworded(item.expr.sql, words)
    return word if item.name == item.expr.sql else f"{name} = {word}"
