"""The home of a program: the directory, here or elsewhere, that holds its state, and who may write to it.

    home/
      weft.json      what this is: format version, program, pinned settings
      owner.lock     locked by the process that runs the program; the lock dies with it
      owner.json     who that is, and its generation: a number that grows with every owner
      catalog/       the program's history                    ingest/<stream>/   the ingest log
      answers/       the answer log                           snapshots/         folded state
      delivery/      where each sink stands                   results/           the result store
      tables/<table>/  the versions of a table                 staging/  files on their way into a dataset
      checkpoints/   Spark's own

The lock keeps a second process out. Should it fail to (a lock file deleted by hand, a network file system
without locks, a place elsewhere), the generation fences the older owner: it is checked before every record.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weft.errors import Bug, RunError
from weft.log.durable import (
    create_once,
    entries,
    find_record,
    make_directory,
    read_record,
    record_chunks,
    remove,
    write_file,
)
from weft.log.owner import Ownership, RemoteOwnership, now, take
from weft.log.paths import AnyPath, locate
from weft.log.remote import RemotePath

FORMAT = 5


class Home:
    """An open home. `Home.open` takes ownership; `Home.look` only reads, whoever runs it."""

    def __init__(
        self, path: AnyPath, about: dict[str, Any], ownership: Ownership | RemoteOwnership | None
    ) -> None:
        self.path = path
        self.is_remote = isinstance(path, RemotePath)
        self._about = about
        self._ownership = ownership

    @classmethod
    def open(cls, path: str | AnyPath, program: str | None = None, *, create: bool = True) -> Home:
        """Own the home of `program`, making it first if need be. Refused while another process owns it."""
        path = locate(path).absolute()
        if not (path / "weft.json").exists():
            _refuse_foreign(path, create)
            make_directory(path)
        ownership = take(path)
        try:
            about = _read_about(path) if (path / "weft.json").exists() else _write_about(path, program)
            _check_program(path, about, program)
            _clear_staging(path)
        except BaseException:
            ownership.give_up()
            raise
        return cls(path, about, ownership)

    @classmethod
    def check(cls, path: str | AnyPath) -> None:
        """Raise if the home cannot be had. One that is not there yet is still not there afterwards."""
        path = locate(path).absolute()
        if (path / "weft.json").exists():
            if isinstance(path, RemotePath):  # owning it would fence whoever runs it
                _read_about(path)
            else:
                cls.open(path).close()
            return
        _refuse_foreign(path, create=True)
        if isinstance(path, RemotePath):
            path.try_out()
            return
        missing = [above for above in (path, *path.parents) if not above.exists()]
        make_directory(path)
        for made in missing:
            made.rmdir()

    @classmethod
    def look(cls, path: str | AnyPath) -> Home:
        """The home for reading only."""
        path = locate(path).absolute()
        about = find_record(path / "weft.json")
        if about is None:
            raise _no_home(path)
        return cls(path, _checked(path, about), None)

    @property
    def id(self) -> str:
        return str(self._about["id"])

    @property
    def program(self) -> str:
        return str(self._about["program"])

    @property
    def owned(self) -> bool:
        return self._ownership is not None

    @property
    def generation(self) -> int:
        return self._ownership.generation if self._ownership else 0

    @property
    def settings(self) -> dict[str, str]:
        """The settings pinned so far."""
        return dict(self._about["settings"])

    def pin(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Pin the settings that are not pinned yet; returns all that are in force."""
        merged = dict(settings) | self.settings
        if merged != self.settings:
            self.check_owner()
            self._about = self._about | {"settings": merged}
            write_file(self.path / "weft.json", record_chunks(self._about), "home.format")
        return merged

    def directory(self, *parts: str) -> AnyPath:
        """A directory of the home, made if it is not there and the home is ours."""
        path = self.path.joinpath(*(file_name(part) for part in parts))
        if self.owned and (self.is_remote or not path.exists()):
            make_directory(path)
        return path

    def check_owner(self) -> None:
        """Raise unless this object owns the home, now."""
        if self._ownership is None:
            raise Bug("home-not-owned", f"{self.path} was opened for reading only")
        self._ownership.check()

    def close(self) -> None:
        if self._ownership is not None:
            self._ownership.give_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _write_about(path: AnyPath, program: str | None) -> dict[str, Any]:
    about: dict[str, Any] = {
        "format": FORMAT,
        "id": secrets.token_hex(8),
        "program": program or path.name,
        "created": now(),
        "settings": {},
    }
    created = create_once(path / "weft.json", record_chunks(about), "home.format")
    return about if created else _read_about(path)  # elsewhere, two may start at once


def _read_about(path: AnyPath) -> dict[str, Any]:
    return _checked(path, read_record(path / "weft.json"))


def _checked(path: AnyPath, about: dict[str, Any]) -> dict[str, Any]:
    if about.get("format") != FORMAT:
        raise RunError(
            "home-of-other-version",
            f"{path} has format {about.get('format')}, this weft reads and writes format {FORMAT}",
            help="run it with the version of weft that wrote it, or start afresh in another home with --home",
        )
    return about


def _check_program(path: AnyPath, about: Mapping[str, Any], program: str | None) -> None:
    if program is not None and about["program"] != program:
        raise RunError(
            "home-of-other-program",
            f"{path} is the home of program `{about['program']}`, not of `{program}`",
            help="choose another home with --home; a program may be changed, but its name stays",
        )


def _refuse_foreign(path: AnyPath, create: bool) -> None:
    """Refuse a place that is not a home and cannot become one."""
    if not create:
        raise _no_home(path)
    if isinstance(path, Path) and path.exists() and not path.is_dir():
        raise RunError(
            "not-a-home", f"{path} is a file, not a directory", help="choose another home with --home"
        )
    ours = {"owner.lock", "owner.json"}  # left by a start that died before it had written weft.json
    if any(name not in ours and not name.endswith(".tmp") for name in entries(path)):
        raise RunError(
            "not-a-home",
            f"{path} holds other files and no weft.json",
            help="choose an empty directory, or one that weft has made, with --home",
        )


def _no_home(path: AnyPath) -> RunError:
    return RunError(
        "no-home",
        f"{path} is not the home of a weft program",
        help="run the program first, or name its home with --home",
    )


def _clear_staging(path: AnyPath) -> None:
    """Drop what a crash left on its way; whatever it was to become is made again."""
    for directory in (path, path / "delivery"):
        remove(directory, [name for name in entries(directory) if name.endswith(".tmp")])
    if isinstance(path, Path):
        shutil.rmtree(path / "staging", ignore_errors=True)


def file_name(name: str) -> str:
    """A name as a file name: what is not plain is written as %XX, so that different names stay different."""
    encoded = re.sub(
        r"[^A-Za-z0-9_.@=-]", lambda char: "".join(f"%{byte:02X}" for byte in char[0].encode()), name
    )
    return re.sub(r"^[._]", lambda char: f"%{ord(char[0]):02X}", encoded)
