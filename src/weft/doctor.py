"""What weft needs of a machine, one by one: each finding says how it is and, if not well, what to do."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from weft.engine.calibration import kept
from weft.errors import RunError
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath
from weft.terminal.figures import size

GB = 1_000_000_000
JAVAS = (17, 21)

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: str  # ok | warn | bad
    text: str
    fix: str = ""


def examine(home: AnyPath, conf: Mapping[str, str]) -> list[Finding]:
    """All findings: of the machine, of `home` and of the Spark settings in `conf`."""
    return [
        python(),
        *(package(name, least) for name, least in (("pyspark", (4, 3)), ("pyarrow", (18,)), ("numpy", (2,)))),
        java(os.environ),
        memory(physical_memory(), driver_memory(conf)),
        result_size(conf),
        *(
            [writable(home), disk(home, "disk of the home")]
            if isinstance(home, Path)
            else [writable_elsewhere(home)]
        ),
        disk(Path(conf.get("spark.local.dir", tempfile.gettempdir())), "disk for Spark"),
        loopback(socket.gethostbyname),
        constants(home, os.cpu_count()),
    ]


def python() -> Finding:
    text = f"{platform.python_version()}  {sys.executable}"
    return Finding("Python", "ok", text)


def package(name: str, least: tuple[int, ...]) -> Finding:
    """An installed package, looked up without importing it."""
    wanted = ".".join(map(str, least))
    fix = f"pip install '{name}>={wanted}'"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, "bad", "not installed", fix)
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[: len(least)])
    return Finding(name, "ok", found) if numbers >= least else Finding(name, "bad", f"{found}, too old", fix)


def java(environment: Mapping[str, str]) -> Finding:
    """The Java that Spark would start: of JAVA_HOME, else of PATH."""
    fix = (
        "install one (`apt-get install openjdk-17-jre-headless`, `dnf install java-21-openjdk-headless`, "
        "`brew install openjdk@21`) and set JAVA_HOME if it is not the first on PATH"
    )
    home = environment.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH"))
    if not program:
        return Finding("Java", "bad", "none on PATH, and JAVA_HOME is not set", fix)
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Java", "bad", f"{program} does not run: {error}", fix)
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', said.stderr + said.stdout)
    if not found:
        return Finding("Java", "bad", f"{program} does not tell its version", fix)
    text = f"{found[1]}{found[2]}  {program}"
    if int(found[1]) not in JAVAS:
        return Finding("Java", "bad", f"{text}: Spark needs 17 or 21", fix)
    return Finding("Java", "ok", text)


def memory(machine: int, driver: int) -> Finding:
    """Driver memory against what the machine has: the heap, and as much again for Python and Arrow."""
    text = f"{size(driver)} for the driver, of {size(machine)}"
    if machine and driver > machine * 0.8:
        return Finding("memory", "bad", text, "lower it: --conf spark.driver.memory=" + _suggested(machine))
    if machine < 2 * GB:
        return Finding(
            "memory", "warn", text, "weft and Spark want 2 GB; expect little, use few keys and queries"
        )
    if driver < GB * 0.9:
        return Finding("memory", "warn", text, "raise it: --conf spark.driver.memory=1g")
    return Finding("memory", "ok", text)


def _suggested(machine: int) -> str:
    return f"{max(512, machine // 2 // 2**20 // 512 * 512)}m"


def result_size(conf: Mapping[str, str]) -> Finding:
    """How much one batch may bring to the driver: beyond it Spark fails the batch."""
    given = conf.get("spark.driver.maxResultSize", "1g")
    limit = spark_bytes(given)
    fix = "--conf spark.driver.maxResultSize=1g"
    if limit is None:
        return Finding("result size", "bad", f"spark.driver.maxResultSize = {given} is no size", fix)
    if limit == 0:
        return Finding("result size", "warn", "no limit: a batch that is too large ends the driver", fix)
    if limit < 256 * 2**20:
        return Finding("result size", "warn", f"{size(limit)}: batches with many groups will fail", fix)
    return Finding("result size", "ok", f"{size(limit)} of partials per batch")


def driver_memory(conf: Mapping[str, str]) -> int:
    """The driver's heap in bytes: from the settings, else Spark's default of 1g."""
    return spark_bytes(conf.get("spark.driver.memory", "1g")) or 2**30


def spark_bytes(text: str) -> int | None:
    """`512m`, `1g`, `2gb` as Spark reads them, powers of 1024; None if it is no size."""
    match = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    return int(match[1]) * _UNITS[match[2]] if match else None


def physical_memory() -> int:
    """Of the machine, or of the container where that is less; 0 when nobody tells."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def writable(home: Path) -> Finding:
    """Whether a home can be made and written at this place, tried with a file that is removed again."""
    place = _existing(home)
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".weft-doctor-"):
            pass
    except OSError as error:
        return Finding(
            "home",
            "bad",
            f"{home} cannot be written: {error.strerror}",
            "name a place that can with --home DIR",
        )
    return Finding("home", "ok", f"{home} can be written")


def writable_elsewhere(home: RemotePath) -> Finding:
    """The same of a place elsewhere."""
    try:
        home.try_out()
    except RunError as error:
        return Finding("home", "bad", error.what, error.help)
    return Finding("home", "ok", f"{home} can be written")


def constants(home: AnyPath, cores: int | None) -> Finding:
    """What costs are predicted from: numbers of this machine, or of another."""
    fix = "weft calibrate PROGRAM measures this machine in some seconds"
    try:
        found = kept(home)
    except RunError:  # of a place that cannot be read something is said already
        found = None
    if found is None:
        return Finding(
            "costs", "ok", "predicted with shipped constants; the first start measures this machine"
        )
    if not found.origin.endswith(f" {cores} cores"):
        return Finding("costs", "warn", f"constants {found.origin}: this machine has {cores}", fix)
    return Finding("costs", "ok", f"constants {found.origin}")


def disk(place: Path, name: str) -> Finding:
    free = shutil.disk_usage(_existing(place)).free
    text = f"{size(free)} free at {place}"
    if free < GB // 5:
        return Finding(name, "bad", text, "free some space, or choose another place")
    if free < 2 * GB:
        return Finding(name, "warn", text, "answers and log may fill it; RETAIN bounds what a query keeps")
    return Finding(name, "ok", text)


def _existing(place: Path) -> Path:
    place = place.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    return place


def loopback(resolve: Callable[[str], str]) -> Finding:
    """Spark's parts talk to each other over `localhost`."""
    fix = "add the line `127.0.0.1 localhost` to /etc/hosts"
    try:
        address = resolve("localhost")
    except OSError as error:
        return Finding("loopback", "bad", f"localhost does not resolve: {error}", fix)
    if not address.startswith("127."):
        return Finding("loopback", "bad", f"localhost is {address}", fix)
    try:
        socket.create_server((address, 0)).close()
    except OSError as error:
        return Finding(
            "loopback", "bad", f"no port of {address} can be opened: {error}", "allow it in the sandbox"
        )
    return Finding("loopback", "ok", f"localhost is {address}")
