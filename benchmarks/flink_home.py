"""Where Flink is: an environment of its own, installed by pip when it is first needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("apache-flink==2.3.0", "psutil")
DEFAULT = Path.home() / ".cache" / "weft-bench" / "flink"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is no Flink here."""

    reason: str


def python(home: Path) -> Path | Unavailable:
    """The interpreter of the environment, which is made now unless it is there."""
    found = home / "bin" / "python"
    if (home / "ready").exists():
        return found
    for command in (
        [sys.executable, "-m", "venv", str(home)],
        [str(found), "-m", "pip", "install", "--quiet", *PACKAGES],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            return Unavailable(_last_line(done.stderr or done.stdout))
    (home / "ready").touch()
    return found


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "pip said nothing"
