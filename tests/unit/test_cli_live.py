"""The live board on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.unit.cli_fakes import a_status
from weft.plan.nodes import Program
from weft.terminal.live import Live

with Live("market", Program((), ()), Path("nowhere")) as live:
    os.system("echo noise of a JVM >&2")
    live.show(a_status(), 1.0, None)
    {fail}
print("after", file=sys.stderr)
"""


def on_a_terminal(fail: str = "") -> str:
    """What is written to a terminal, escapes and all."""
    ours, theirs = pty.openpty()
    script = SCRIPT.format(root=str(Path(__file__).parents[2]), fail=fail)
    environment = os.environ | {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
    with subprocess.Popen([sys.executable, "-c", script], stderr=theirs, env=environment) as child:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            written += piece
        child.wait(60)
    os.close(ours)
    return written.decode()


@pytest.fixture(scope="module")
def quiet() -> str:
    return on_a_terminal()


def test_the_board_is_on_the_alternate_screen_and_leaves_it(quiet) -> None:
    enter, leave = "\x1b[?1049h", "\x1b[?1049l"
    assert quiet.index(enter) < quiet.index("84,000") < quiet.index(leave) < quiet.index("after")
    assert quiet.rindex("\x1b[?25h") > quiet.rindex("\x1b[?25l")  # the cursor is shown again


def test_what_others_write_is_kept_from_the_screen(quiet) -> None:
    assert "noise" not in quiet


def test_what_others_wrote_is_shown_if_it_fails() -> None:
    text = on_a_terminal("raise RuntimeError('oh')")
    assert text.index("\x1b[?1049l") < text.index("noise of a JVM") < text.index("RuntimeError: oh")
