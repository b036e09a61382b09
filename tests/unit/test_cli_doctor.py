"""`weft doctor`, and what it finds."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.stores import Bucket, url
from weft import doctor
from weft.cli import cli
from weft.doctor import GB, Finding
from weft.engine.calibration import keep
from weft.errors import RunError
from weft.log.paths import locate
from weft.log.remote import RemotePath
from weft.share.model.constants import SHIPPED


def a_java(directory: Path, version: str) -> dict[str, str]:
    """An environment whose JAVA_HOME holds a program that tells this version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(directory)}


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('openjdk version "11.0.2" 2019-01-15', "bad"),
        ('java version "1.8.0_402"', "bad"),
        ("what?", "bad"),
    ],
)
def test_java_must_be_one_that_spark_runs_on(tmp_path, version, state) -> None:
    finding = doctor.java(a_java(tmp_path, version))
    assert finding.state == state
    assert str(tmp_path) in finding.text
    assert bool(finding.fix) == (state == "bad")


def test_no_java_at_all(tmp_path) -> None:
    assert doctor.java({"PATH": str(tmp_path)}).state == "bad"
    assert doctor.java({"JAVA_HOME": str(tmp_path)}).state == "bad"


def test_packages_are_found_without_importing_them() -> None:
    assert doctor.package("pyarrow", (18,)).state == "ok"
    assert doctor.package("pyarrow", (9999,)).fix == "pip install 'pyarrow>=9999'"
    assert doctor.package("no-such-package", (1,)).text == "not installed"
    assert sys.executable in doctor.python().text


@pytest.mark.parametrize(
    ("machine", "driver", "state"),
    [(16 * GB, GB, "ok"), (GB, GB // 2, "warn"), (16 * GB, GB // 2, "warn"), (2 * GB, 8 * GB, "bad")],
)
def test_driver_memory_is_held_against_the_machine(machine, driver, state) -> None:
    assert doctor.memory(machine, driver).state == state


@pytest.mark.parametrize(
    ("given", "state"), [(None, "ok"), ("4g", "ok"), ("100m", "warn"), ("0", "warn"), ("lots", "bad")]
)
def test_the_result_size_limit(given, state) -> None:
    conf = {} if given is None else {"spark.driver.maxResultSize": given}
    assert doctor.result_size(conf).state == state


@pytest.mark.parametrize(
    ("text", "size"),
    [("512m", 512 * 2**20), ("1g", 2**30), ("2GB", 2**31), ("7", 7), ("1.5g", None), ("", None)],
)
def test_sizes_as_spark_writes_them(text, size) -> None:
    assert doctor.spark_bytes(text) == size


def test_a_home_that_can_be_made(tmp_path) -> None:
    home = tmp_path / "not" / "yet"
    assert doctor.writable(home).state == "ok"
    assert not home.exists()


def test_a_home_below_a_file_is_tried_where_a_directory_is(tmp_path) -> None:
    assert doctor.writable(Path("/proc/weft")).state == "bad"


def test_a_home_elsewhere_is_tried_too(tmp_path, monkeypatch) -> None:
    there = locate(url("bucket", tmp_path / "app"))
    assert isinstance(there, RemotePath)
    assert doctor.writable_elsewhere(there).state == "ok"
    assert not there.exists()
    monkeypatch.setattr(Bucket, "down", {"app": PermissionError(13, "Forbidden")})
    assert doctor.writable_elsewhere(there).state == "bad"


def test_disk(tmp_path, monkeypatch) -> None:
    for free, state in ((100 * GB, "ok"), (GB, "warn"), (1000, "bad")):
        monkeypatch.setattr(
            doctor.shutil, "disk_usage", lambda place, free=free: type("U", (), {"free": free})
        )
        assert doctor.disk(tmp_path, "disk").state == state


def test_loopback() -> None:
    def fails(name: str) -> str:
        raise socket.gaierror("unknown")

    assert doctor.loopback(lambda name: "127.0.0.1").state == "ok"
    assert doctor.loopback(lambda name: "10.0.0.7").state == "bad"
    assert "/etc/hosts" in doctor.loopback(fails).fix


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("warn", 0), ("bad", 3)])
def test_the_verb_prints_a_line_each_and_fails_if_one_is_bad(monkeypatch, state, code) -> None:
    findings = [
        Finding("Python", "ok", "3.12"),
        Finding("Java", state, "11", "" if state == "ok" else "install 17"),
    ]
    monkeypatch.setattr("weft.commands.doctor.examine", lambda home, conf: findings)
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == code
    assert result.output.splitlines()[0].split() == ["ok", "Python", "3.12"]
    assert ("fix: install 17" in result.output) == (state != "ok")


def test_the_verb_examines_the_home_and_settings_it_is_given(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr("weft.commands.doctor.examine", lambda home, conf: asked.append((home, conf)) or [])
    CliRunner().invoke(cli, ["doctor", "--home", "x", "--conf", "spark.driver.memory=2g"])
    assert asked == [(Path("x"), {"spark.driver.memory": "2g"})]
    assert CliRunner().invoke(cli, ["doctor", "--conf", "nonsense"]).exit_code == 2


def test_whether_the_machine_is_calibrated(tmp_path) -> None:
    assert "shipped constants" in doctor.constants(tmp_path, 4).text
    keep(tmp_path, replace(SHIPPED, origin="measured on 2026-01-02, 4 cores"))
    assert doctor.constants(tmp_path, 4) == Finding(
        "costs", "ok", "constants measured on 2026-01-02, 4 cores"
    )


def test_constants_of_another_machine_are_told(tmp_path) -> None:
    keep(tmp_path, replace(SHIPPED, origin="measured on 2026-01-02, 64 cores"))
    found = doctor.constants(tmp_path, 4)
    assert found.state == "warn"
    assert "this machine has 4" in found.text
    assert "weft calibrate" in found.fix


def test_the_costs_of_a_place_that_cannot_be_read(monkeypatch) -> None:
    def unreadable(home) -> None:
        raise RunError("no-home", "it is not there", help="none")

    monkeypatch.setattr(doctor, "kept", unreadable)
    assert doctor.constants(locate("memory://nowhere"), 4).state == "ok"
