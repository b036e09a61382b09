"""What does ONE query with a small slide cost, against `groupBy(window(...))` in Structured Streaming?"""

from __future__ import annotations

from functools import partial

from benchmarks import native, programs
from benchmarks.data import Data
from benchmarks.measure import Claim, Measured, Report, measure
from benchmarks.settings import Settings
from benchmarks.weft_side import run_program

QUESTION = "one query, 1000 keys, sliding every second: rows per CPU-second, weft against window()"
BOUNDS = {60: 15, 600: 100}  # range in seconds: how many times the rows per CPU-second


def ask(settings: Settings) -> Report:
    sides: list[Measured] = []
    claims = []
    for range_s, bound in BOUNDS.items():
        plain, woven = _native(settings, range_s), _weft(settings, range_s)
        ratio = woven.rows_per_cpu_second / plain.rows_per_cpu_second
        claims.append(
            Claim(f"{range_s} s / 1 s: rows per CPU-second, weft / window()", ratio, bound, at_most=False)
        )
        sides += [plain, woven]
    remark = "window() copies every row range/slide times, so it is given part of the files"
    return Report(QUESTION, tuple(sides), tuple(claims), (remark,))


def _native(settings: Settings, range_s: int) -> Measured:
    data, files = settings.data(keys=1000)
    part = min(settings.native_files[range_s], data.files)
    run = partial(native.stream_windows, settings.spark, files, range_s=range_s, slide_s=1, part=part)
    return measure(
        f"window() {range_s} s / 1 s",
        data.rows_per_file * part,
        run,
        warm=settings.warm,
        repeat=settings.repeat,
        note=_part(data, part),
    )


def _weft(settings: Settings, range_s: int) -> Measured:
    data, files = settings.data(keys=1000)
    query = programs.WindowQuery("one", "AVG(price)", range_s, 1)
    run = partial(run_program, settings.spark, programs.program([query], files, into="noop"))
    return measure(f"weft {range_s} s / 1 s", data.rows, run, warm=settings.warm, repeat=settings.repeat)


def _part(data: Data, part: int) -> str:
    return f"first {part} of {data.files} files, one a batch"
