"""`make chaos`: kill a program of fifty queries again and again, and compare with a run left in peace.

python -m tests.chaos                     thirty kills at random moments
python -m tests.chaos --kills 100 --seed 7
python -m tests.chaos --fault-points            a kill at every fault point instead, one life after the other
python -m tests.chaos --fault-points answers.   at those whose names begin so
python -m tests.chaos --placements executors:2,driver,executors:3     the cells elsewhere in every life
"""

from __future__ import annotations

import argparse
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.compare import datasets, differences
from tests.chaos.lives import OFTEN, WEFT, Life, Place
from tests.chaos.program import QUERIES, program, write_files
from tests.chaos.truth import untrue
from weft.log.durable import list_fault_points

AHEAD = 25  # files that have arrived but are not ingested, at the start of a life


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    path = Path(tempfile.mkdtemp(prefix="weft-chaos-", dir=options.directory))
    print(
        f"seed {seed}, {options.files} files of {options.rows} rows, {QUERIES} queries, in {path}", flush=True
    )
    files = write_files(path / "files", options.files, options.rows, seed)
    peaceful = Place(path / "undisturbed", files, program())
    killed = Place(path / "killed", files, program(), options.placements.split(","))
    chaos = Chaos(killed, random.Random(seed), start=_live_in_peace(peaceful))
    if options.fault_points is not None:
        chaos.die_at_fault_points(options.fault_points)
    else:
        chaos.die_at_random(options.kills)
    chaos.finish()
    return _verdict(peaceful, killed, chaos, files, path, options.keep)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Kill, start again, compare.")
    parser.add_argument("--kills", type=int, default=30, help="how often to kill (30)")
    parser.add_argument("--seed", type=int, help="of the data and of the moments")
    parser.add_argument(
        "--fault-points",
        nargs="?",
        const="",
        metavar="PREFIX",
        help="kill at every fault point instead, or at those whose names begin so",
    )
    parser.add_argument(
        "--placements",
        default="driver",
        help="where the cells are in one life after the other: driver, executors, executors:3 (driver)",
    )
    parser.add_argument("--files", type=int, default=150, help="files of the source, one a batch (150)")
    parser.add_argument("--rows", type=int, default=200, help="rows in a file (200)")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary place if not given")
    parser.add_argument("--keep", action="store_true", help="leave everything in place at the end")
    return parser.parse_args()


def _live_in_peace(place: Place) -> float:
    """One life from beginning to end; gives the seconds that passed until the first batch was in."""
    place.show(10**9)
    life = Life(place, WEFT, drain=True)
    life.wait_until(lambda: place.ingested > 0)
    start, code = life.seconds, life.end()
    if code:
        raise SystemExit(f"the undisturbed run ended with {code}: see {place.path / 'log.txt'}")
    rows = sum(len(rows) for rows in datasets(place.path).values())
    print(f"undisturbed: {place.ingested} batches, {rows} rows of answers, {life.seconds:.0f} s", flush=True)
    return start


class Chaos:
    """A program that is killed, and what came of it."""

    def __init__(self, place: Place, moments: random.Random, start: float) -> None:
        self.place, self._random, self._start = place, moments, start
        self.deaths: Counter[str] = Counter()
        self.unreached: list[str] = []
        self._started = time.monotonic()

    @property
    def kills(self) -> int:
        return sum(self.deaths.values())

    def die_at_random(self, kills: int) -> None:
        """Some deaths while it starts, most at work, some while it drains and delivers the last answers."""
        moments = ["starting"] * (kills // 6) + ["working"] * (kills - kills // 6 - kills // 5)
        self._random.shuffle(moments)
        for moment in [*moments, *["ending"] * (kills // 5)]:
            while not self._dies(moment):
                pass

    def _dies(self, moment: str) -> bool:
        """One life; False if it ended by itself before its time had come.

        Where all files are in there is no work left to die at, so it dies at its end.
        """
        place, choose = self.place, self._random
        if moment == "working" and place.has_all:
            moment = "ending"
        if moment == "ending":
            place.show(10**9)
        else:
            place.show(place.ingested + AHEAD)
        life = self._begin(WEFT)
        match moment:
            case "starting":
                alive = life.wait_for(choose.uniform(0, self._start))
            case "working":
                upto = life.before + choose.randrange(1, 8)
                alive = life.wait_until(lambda: place.ingested >= upto)
                alive = alive and life.wait_for(choose.uniform(0, 2))
            case _:
                alive = life.wait_until(lambda: place.has_all) and life.wait_for(choose.uniform(0, 3))
        return self._kill(life, moment) if alive else self._ended(life)

    def die_at_fault_points(self, prefix: str) -> None:
        """One life for each fault point; those of the first start come first."""
        points = [point for point in list_fault_points() if point.startswith(prefix)]
        self._random.shuffle(points)
        for point in sorted(points, key=lambda point: not point.startswith(("home.", "catalog."))):
            self.place.show(self.place.ingested + AHEAD)
            hit = self._random.choice((1, 1, 2, 3))
            life = self._begin(OFTEN, {"WEFT_FAULT": f"{point}:{hit}"})
            if life.end() == -9:
                self._count(life, point)
            else:
                self.unreached.append(f"{point}:{hit}")

    def finish(self) -> None:
        """Left in peace, it must come to its end."""
        self.place.show(10**9)
        self._end(self._begin(WEFT))

    def _begin(self, command: list[str], env: dict[str, str] | None = None) -> Life:
        return Life(self.place, command, drain=self.place.is_complete, env=env)

    def _kill(self, life: Life, moment: str) -> bool:
        alone = self._random.random() < 0.2
        life.kill(alone)
        self._count(life, f"{moment}, alone" if alone else moment)
        return True

    def _count(self, life: Life, moment: str) -> None:
        self.deaths[moment] += 1
        batches = f"batches {life.before} to {self.place.ingested}"
        print(f"kill {self.kills:3d}: {moment}, after {life.seconds:5.1f} s, {batches}", flush=True)

    def _ended(self, life: Life) -> bool:
        self._end(life)
        return False

    def _end(self, life: Life) -> None:
        code = life.end()
        if code:
            log = self.place.path / "log.txt"
            raise SystemExit(f"after {self.kills} kills it ended with {code}: see {log}")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started


def _verdict(peaceful: Place, killed: Place, chaos: Chaos, files: list[Path], path: Path, keep: bool) -> int:
    told = [f"untrue: {text}" for text in untrue(files, killed.path)]
    told += differences(peaceful.path, killed.path)
    for text in told[:40]:
        print(text)
    deaths = ", ".join(
        f"{count} {moment}" for moment, count in sorted(chaos.deaths.items()) if "." not in moment
    )
    print(f"{chaos.kills} kills in {chaos.seconds:.0f} s{f' ({deaths})' if deaths else ''}")
    if chaos.unreached:
        print(f"not reached in their life: {', '.join(chaos.unreached)}")
    rows = sum(len(rows) for rows in datasets(killed.path).values())
    print(f"{rows} rows, {len(told)} differences: {'NOT THE SAME' if told else 'the same, row for row'}")
    if not told and not keep:
        shutil.rmtree(path)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
