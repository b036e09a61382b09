"""A standalone cluster on loopback: one master and some workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pyspark

SPARK = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
LONGEST = 60.0  # seconds until a process must be there


class Standalone:
    """Started by `with`; `workers` can be killed, with their executors.

    `pinned`: each worker, and with it its executor, has a core of its own.
    """

    def __init__(self, directory: Path, workers: int, memory: str = "1g", pinned: bool = False) -> None:
        self.directory, self.count, self.memory, self.pinned = directory, workers, memory, pinned
        self.workers: list[subprocess.Popen[bytes]] = []
        self._port = _free_port()

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self._port}"

    def __enter__(self) -> Standalone:
        self._processes = [self._start("master", "Master", "--port", str(self._port))]
        _await_port(self._port)
        self.workers = [
            self._start(
                f"worker{at}", "Worker", "--cores", "1", "--memory", self.memory, "--work-dir",
                str(self.directory / f"work{at}"), self.master, core=at if self.pinned else None,
            )
            for at in range(self.count)
        ]  # fmt: skip
        self._processes += self.workers
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            kill(process)

    def _start(self, name: str, role: str, *options: str, core: int | None = None) -> subprocess.Popen[bytes]:
        pin = [] if core is None else ["taskset", "-c", str(core)]
        command = [*pin, str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}"]
        settings = {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": HOST}
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with open(self.directory / f"{name}.log", "wb") as log:
            return subprocess.Popen(
                [*command, "--host", HOST, "--webui-port", str(_free_port()), *options],
                env=inherited | settings,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _await_port(port: int) -> None:
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")
