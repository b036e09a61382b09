"""What holds of every relation, whatever rules have been at it."""

from __future__ import annotations

from weft.errors import Bug
from weft.plan.origins import expressions
from weft.plan.relations import Entries, Relation, Rows
from weft.plan.relationshow import show_relation_node
from weft.plan.relationtree import below, columns, walk
from weft.plan.scope import names_in


def check_relation(relation: Relation) -> None:
    """Raise a Bug that names the first node of which something does not hold."""
    for node in walk(relation):
        known = {one.name for source in below(node) for one in columns(source)}
        for source in expressions(node):
            if not isinstance(node, Rows | Entries) and not names_in(source) <= known:
                what = f"`{source.sql}` speaks of columns that are not below it"
                raise Bug("unsound-plan", f"{what}: {show_relation_node(node)}")
        names = [one.name for one in columns(node)]
        if len(set(names)) < len(names):
            raise Bug("unsound-plan", f"a column is there twice: {show_relation_node(node)}")
