"""What do nine hundred queries more cost?"""

from __future__ import annotations

from functools import partial

from benchmarks import programs
from benchmarks.measure import Claim, Report, measure
from benchmarks.settings import Settings
from benchmarks.weft_side import run_program

QUESTION = "1000 queries against 100 of them, 100 keys, every answer touched and thrown away"
BOUND = 2


def ask(settings: Settings) -> Report:
    data, files = settings.data(keys=100)
    sides = []
    for count in (100, 1000):
        program = programs.program(programs.draw(count), files, into="noop")
        side = measure(
            f"weft, {count} queries, noop",
            data.rows,
            partial(run_program, settings.spark, program),
            warm=settings.warm,
            repeat=settings.repeat,
        )
        sides.append(side)
    few, many = sides
    claim = Claim("CPU of 1000 queries / CPU of 100", many.cpu / few.cpu, BOUND, at_most=True)
    return Report(QUESTION, (few, many), (claim,))
