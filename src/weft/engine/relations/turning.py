"""Tables that are made of changes go on, and whoever reads them with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.engine.relations.current import Awaiting, Replacing
from weft.engine.relations.flows import Flows
from weft.engine.relations.operator import Operator
from weft.times import BEGINNING, Instant


def turn(flows: Flows, operators: Iterable[Operator], complete: Mapping[str, Instant]) -> None:
    """Let tables go as far as their streams are complete, and tell those that read them."""
    reading = [each.current for each in operators if isinstance(each, Awaiting | Replacing)]
    for flow in flows:
        turned, late = flow.advance(complete.get(flow.made_of.stream, BEGINNING)), flow.late()
        for current in reading:
            if current.table == flow.table.name:
                current.put(flow, turned, late)


def flows_wait(flows: Flows, operators: Iterable[Operator], complete: Mapping[str, Instant]) -> bool:
    """Would tables go further that are read, or rows look them up that wait?"""
    for each in operators:
        if isinstance(each, Awaiting | Replacing):
            flow = flows[each.current.table]
            upto = complete.get(flow.made_of.stream, BEGINNING)
            if flow.waits(upto) or (isinstance(each, Awaiting) and each.waits(upto)):
                return True
    return False
