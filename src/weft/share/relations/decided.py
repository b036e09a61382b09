"""What was decided of relations, and what by: of a program that runs it is told, else it is decided anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.share.model.forecast import Basis
from weft.share.nodes import Woven
from weft.share.relations.classes import Classes
from weft.share.relations.links import Chain


@dataclass(frozen=True, slots=True)
class Decided:
    """Where absence stands, by query, and which lengths lie together, by chain; by `basis` all else."""

    basis: Basis = field(default_factory=Basis)
    related: Mapping[str, Woven] = field(default_factory=dict)
    classes: Mapping[Chain, tuple[Classes, Classes]] = field(default_factory=dict)
