"""The same program with its relations in buckets, which now and then forget what they hold."""

from __future__ import annotations

from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.crashing import live, serve

if __name__ == "__main__":
    serve(lambda path: live(path, LocalCrew(3)))
