"""A short run of the chaos test, so that the long one works when it is wanted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_while_starting_working_and_ending_it_answers_the_same(tmp_path: Path) -> None:
    options = ["--kills", "6", "--files", "20", "--rows", "100", "--seed", "1", "--directory", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.chaos", *options], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "6 kills" in run.stdout
    assert "0 differences" in run.stdout
