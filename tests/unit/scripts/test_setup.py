"""The set-up scripts on machines that lack something: real scripts, stub package managers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
TOOLS = ("sh", "env", "dirname", "readlink", "sed", "head", "id", "mkdir", "cat", "chmod", "mv", "rm")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A directory of just enough tools to be the whole PATH, and no Java."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tools / tool).symlink_to(found)
    return tmp_path


def java_home(directory: Path, version: str, *, release: bool = True) -> Path:
    """A Java home that says it is of `version`, by its release file or only when asked."""
    (directory / "bin").mkdir(parents=True)
    stub(directory / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    if release:
        (directory / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return directory


def stub(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def ensure_java(machine: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": str(machine / "bin"),
        "HOME": str(machine),
        "WEFT_JAVA_DIRS": str(machine / "jvm"),
        **variables,
    }
    script = [str(machine / "bin" / "sh"), str(SCRIPTS / "ensure-java.sh")]
    return subprocess.run(script, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_java_home_is_taken_first(machine: Path) -> None:
    home = java_home(machine / "mine", "21.0.4")
    java_home(machine / "jvm" / "other", "17.0.1")
    assert ensure_java(machine, JAVA_HOME=str(home)).stdout.strip() == str(home)


def test_java_on_path_is_found_through_links(machine: Path) -> None:
    home = java_home(machine / "elsewhere" / "jdk", "17.0.15")
    (machine / "link").symlink_to(home / "bin" / "java")
    (machine / "bin" / "java").symlink_to("../link")
    assert ensure_java(machine).stdout.strip() == str(home)


def test_a_wrong_version_is_passed_over_for_a_right_one(machine: Path) -> None:
    wrong = java_home(machine / "jvm" / "a-11", "11.0.2")
    right = java_home(machine / "jvm" / "b-17", "17.0.2", release=False)
    assert ensure_java(machine, JAVA_HOME=str(wrong)).stdout.strip() == str(right)


def test_without_leave_to_install_the_message_says_what_to_install(machine: Path) -> None:
    wrong = java_home(machine / "jvm" / "java-25", "25.0.1")
    result = ensure_java(machine, JAVA_HOME=str(wrong), WEFT_NO_INSTALL="1")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "Java 25" in result.stderr
    assert "apt-get install openjdk-17-jre-headless" in result.stderr


def test_the_package_manager_installs_the_version_it_has(machine: Path) -> None:
    stub(machine / "bin" / "id", "echo 0")
    stub(machine / "bin" / "apt-cache", '[ "$2" = openjdk-21-jre-headless ]')
    java_home(machine / "package", "21.0.1")
    installs = f"mkdir -p {machine}/jvm; mv {machine}/package {machine}/jvm/java-21"
    stub(
        machine / "bin" / "apt-get",
        f'echo "$@" >> {machine}/calls\ncase "$*" in install*openjdk-21-jre-headless) {installs} ;; esac',
    )

    result = ensure_java(machine)

    assert result.stdout.strip() == str(machine / "jvm" / "java-21")
    assert (machine / "calls").read_text().splitlines() == [
        "update -q",
        "install -y --no-install-recommends openjdk-21-jre-headless",
    ]


def test_sudo_is_used_only_when_it_asks_no_password(machine: Path) -> None:
    stub(machine / "bin" / "id", "echo 1000")
    stub(machine / "bin" / "apt-get", f'echo "$@" >> {machine}/calls')
    stub(machine / "bin" / "sudo", "exit 1")
    assert ensure_java(machine).returncode == 1
    assert not (machine / "calls").exists()


def test_a_dry_run_only_prints(machine: Path) -> None:
    stub(machine / "bin" / "id", "echo 0")
    stub(machine / "bin" / "apt-cache", "exit 0")
    stub(machine / "bin" / "apt-get", f'echo "$@" >> {machine}/calls')
    result = ensure_java(machine, WEFT_DRY_RUN="1")
    assert result.returncode == 0
    assert "would run: env DEBIAN_FRONTEND=noninteractive apt-get install" in result.stderr
    assert not (machine / "calls").exists()


def test_a_python_without_ensurepip_gets_a_clear_message(machine: Path) -> None:
    project = machine / "project"
    shutil.copytree(SCRIPTS, project / "scripts")
    stub(machine / "bin" / "python3", 'case "$*" in *version_info\\ \\<*) exit 0 ;; *) exit 1 ;; esac')
    result = subprocess.run(
        [str(machine / "bin" / "sh"), str(project / "scripts" / "ensure-venv.sh")],
        env={"PATH": str(machine / "bin"), "HOME": str(machine), "WEFT_NO_INSTALL": "1"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == 1
    assert "ensurepip is missing" in result.stderr
    assert "apt-get install python3-venv" in result.stderr
    assert not (project / ".venv").exists()


def test_an_old_python_is_named(machine: Path) -> None:
    stub(machine / "bin" / "python3.9", "exit 1")
    result = subprocess.run(
        [str(machine / "bin" / "sh"), str(SCRIPTS / "ensure-venv.sh")],
        env={"PATH": str(machine / "bin"), "HOME": str(machine), "PYTHON": "python3.9"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == 1
    assert "Python 3.11 or newer; PYTHON=python3.9 is not" in result.stderr
