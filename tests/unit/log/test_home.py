"""A home has one owner, one program and one format."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores import on_disk, package
from weft.errors import Bug, RunError
from weft.log.durable import record_chunks
from weft.log.home import Home, file_name
from weft.log.ingest import IngestLog
from weft.log.paths import AnyPath


def code_of(call: object) -> str:
    with pytest.raises(RunError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.help
    return caught.value.code


def test_a_home_is_made_and_opened_again(place: AnyPath) -> None:
    with Home.open(place / "h", "app") as home:
        first, generation = home.id, home.generation
        assert home.pin({"timezone": "UTC"}) == {"timezone": "UTC"}
    with Home.open(place / "h", "app") as home:
        assert (home.id, home.program, home.generation) == (first, "app", generation + 1)
        assert home.pin({"timezone": "CET", "ansi": "true"}) == {"timezone": "UTC", "ansi": "true"}
    assert Home.look(place / "h").settings == {"timezone": "UTC", "ansi": "true"}


def test_a_second_owner_in_this_process_is_refused(place: AnyPath) -> None:
    with Home.open(place / "h"):
        assert code_of(lambda: Home.open(place / "h")) == "home-in-use"
    Home.open(place / "h").close()


def test_whether_a_home_can_be_had_is_found_without_making_it(tmp_path: Path) -> None:
    Home.check(tmp_path / "up" / "h")
    assert not (tmp_path / "up").exists()
    (tmp_path / "file").write_text("")
    assert code_of(lambda: Home.check(tmp_path / "file")) == "not-a-home"
    assert code_of(lambda: Home.check(tmp_path / "file" / "h")) == "write-failed"
    with Home.open(tmp_path / "h"):
        assert code_of(lambda: Home.check(tmp_path / "h")) == "home-in-use"
    Home.check(tmp_path / "h")


def test_a_second_process_is_refused_and_told_who(tmp_path: Path) -> None:
    script = f"from weft.log.home import Home; Home.open({str(tmp_path / 'h')!r})"
    with Home.open(tmp_path / "h"):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "home-in-use" in done.stderr
        assert f"pid {os.getpid()}" in done.stderr
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_lock_dies_with_its_process_even_if_a_child_lives_on(tmp_path: Path) -> None:
    script = (
        f"import os, time\nfrom weft.log.home import Home\nHome.open({str(tmp_path / 'h')!r})\n"
        "if os.fork() == 0:\n    time.sleep(60)\nprint(end='', flush=True)\nos.kill(os.getpid(), 9)"
    )
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as process:
        assert process.wait(30) == -9
        try:
            Home.open(tmp_path / "h").close()
        finally:
            os.killpg(process.pid, 9)


def test_a_stale_owner_is_fenced(place: AnyPath, tmp_path: Path) -> None:
    stale = Home.open(place / "h")
    log = IngestLog(stale, "s")
    log.commit(0, {}, {})
    log.commit(1, {}, {})
    (on_disk(place) / "h" / "owner.lock").unlink(missing_ok=True)
    script = f"from weft.log.home import Home; Home.open({str(place / 'h')!r})"
    subprocess.run([sys.executable, "-c", script], env=package(tmp_path / "package"), check=True)
    assert code_of(lambda: log.commit(2, {}, {})) == "home-taken"
    assert code_of(lambda: log.expire(0)) == "home-taken"
    stale.close()
    with Home.open(place / "h") as home:
        assert (IngestLog(home, "s").first, IngestLog(home, "s").next) == (0, 2)


def test_a_reader_writes_nothing(place: AnyPath) -> None:
    Home.open(place / "h").close()
    home = Home.look(place / "h")
    with pytest.raises(Bug):
        IngestLog(home, "s").commit(0, {}, {})
    assert not (on_disk(place) / "h" / "ingest").exists()


def test_places_that_are_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    assert code_of(lambda: Home.open(tmp_path / "file")) == "not-a-home"
    assert code_of(lambda: Home.open(tmp_path / "full")) == "not-a-home"
    assert code_of(lambda: Home.open(tmp_path / "none", create=False)) == "no-home"
    assert code_of(lambda: Home.look(tmp_path / "none")) == "no-home"
    assert sorted(os.listdir(tmp_path)) == ["file", "full"]


def test_another_version_is_refused(place: AnyPath) -> None:
    Home.open(place / "h").close()
    (on_disk(place) / "h" / "weft.json").write_bytes(b"".join(record_chunks({"format": 99})))
    assert code_of(lambda: Home.open(place / "h")) == "home-of-other-version"
    assert code_of(lambda: Home.look(place / "h")) == "home-of-other-version"


def test_another_program_is_refused(place: AnyPath) -> None:
    Home.open(place / "h", "app").close()
    assert code_of(lambda: Home.open(place / "h", "other")) == "home-of-other-program"
    Home.open(place / "h", "app").close()


def test_a_damaged_home_is_named(place: AnyPath) -> None:
    Home.open(place / "h").close()
    (on_disk(place) / "h" / "weft.json").write_text("{}")
    with pytest.raises(RunError, match=r"weft\.json"):
        Home.open(place / "h")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_place_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert code_of(lambda: Home.open(tmp_path / "h")) == "not-writable"


@pytest.mark.parametrize("names", [("a/b", "a%2Fb"), ("a b", "a_b"), ("..", "."), ("_x", "x"), ("é", "e")])
def test_different_names_stay_different_files(names: tuple[str, str]) -> None:
    one, other = map(file_name, names)
    assert one != other
    assert "/" not in one + other
    assert not one.startswith((".", "_"))
