"""What campaigns have in common: programs drawn by seed, judged, and those that differ cut down and kept."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Generic, Protocol, Self, TypeVar

Wrong = dict[str, str]


class Program(Protocol):
    """Queries and batches; `feeds` are whatever a campaign feeds."""

    @property
    def name(self) -> str: ...

    @property
    def queries(self) -> tuple[tuple[str, Any], ...]: ...

    @property
    def feeds(self) -> tuple[Any, ...]: ...

    def only(self, *names: str) -> Self: ...


Made = TypeVar("Made", bound=Program)


def parser(description: str | None, queries: int, per_program: int, rows: int) -> argparse.ArgumentParser:
    """The options of every campaign, with what they are if nothing is said."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--queries", type=int, default=queries)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--per-program", type=int, default=per_program)
    made.add_argument("--rows", type=int, default=rows)
    made.add_argument("--out", type=Path, default=Path("build/found"), help="where failures are left")
    return made


@dataclass(frozen=True)
class Campaign(Generic[Made]):
    """How programs are drawn, judged, written down and made smaller."""

    draw: Callable[[Random, int, str], Made]
    judge: Callable[[Made], Wrong]
    as_case: Callable[[Made], str]
    shrink: Callable[[Made, Callable[[Made], bool]], Made]
    prefix: str = ""  # of the names of files
    attempts: int = 40  # runs spent on cutting one program down

    def run(self, asked: argparse.Namespace) -> int:
        """Zero when all agree."""
        began, done, failed, number = time.monotonic(), 0, 0, 0
        while done < asked.queries:
            count = min(asked.per_program, asked.queries - done)
            name = f"seed {asked.seed} program {number}"
            made = self.draw(Random(f"{asked.seed}/{number}"), count, name)
            wrong = self.judge(made)
            if wrong:
                failed += len(wrong)
                self.keep(made.only(*wrong), asked.out)
            done, number = done + count, number + 1
            print(f"{done} queries, {failed} differ, {time.monotonic() - began:.0f} s", flush=True)
        print(f"seed {asked.seed}: {done} queries in {number} programs, {failed} differ")
        return 1 if failed else 0

    def keep(self, made: Made, out: Path) -> None:
        """Cut the program down as far as it still differs, and leave it as a case."""
        small = self.smaller(made)
        notes = [line for text in self.judge(small).values() for line in text.splitlines()]
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{self.prefix}{made.name.replace(' ', '-')}.test"
        path.write_text("".join(f"# {line}\n" for line in notes) + self.as_case(small))
        print(f"  {path}", file=sys.stderr)

    def smaller(self, made: Made) -> Made:
        """One query, and as few batches and rows as a bounded number of attempts finds."""
        left, failures = self.attempts, {_failure(text) for text in self.judge(made).values()}

        def differs(candidate: Made) -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and any(_failure(text) in failures for text in self.judge(candidate).values())

        for name, _ in made.queries:
            if differs(made.only(name)):
                made = made.only(name)
                break
        return self.shrink(made, differs)


def surely(judge: Callable[[Made], Wrong]) -> Callable[[Made], Wrong]:
    """All queries of a program that does not run at all differ, with why."""

    def judged(made: Made) -> Wrong:
        try:
            return judge(made)
        except Exception:
            return {name: traceback.format_exc() for name, _ in made.queries}

    return judged


def with_feed(made: Made, at: int, feed: Any) -> Made:
    """The program with another batch in that place."""
    changed: Made = replace(made, feeds=(*made.feeds[:at], feed, *made.feeds[at + 1 :]))
    return changed


def _failure(text: str) -> str:
    """What a program failed with, empty if it told something else: to be cut down it must stay the same."""
    return text.splitlines()[-1] if text.startswith("Traceback") else ""
