"""The directory of a dataset: whose it is, what it holds, and from where a file can be moved into it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from weft.errors import RunError
from weft.log.durable import (
    entries,
    make_directory,
    read_record,
    record_chunks,
    replace_from,
    sync_directory,
    writing,
)
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath

MARKER = ".weft-sink.json"

_PART = re.compile(r"part-(\d{12})\.(?:parquet|json|csv)(?:\.gz)?")


def parts(directory: AnyPath) -> dict[int, str]:
    """The files of a dataset by their first step."""
    matches = (_PART.fullmatch(name) for name in entries(directory))
    return {int(match[1]): match[0] for match in matches if match}


def take_dataset(directory: AnyPath, owner: Mapping[str, str], known: bool) -> None:
    """Make a directory the dataset of `owner`; refuse one that is another's.

    One that is not marked and holds files is refused too, unless it is `known` to have been ours. Nothing
    waits for the disk: that is for `sync_way`, when the first file is closed.
    """
    marker = directory / MARKER
    with writing(directory):
        if isinstance(directory, RemotePath):
            directory.make_directory()
        else:
            directory.mkdir(parents=True, exist_ok=True)
        if not marker.exists():
            if not known:
                _refuse_visible(directory)
            _mark(directory, owner)
    _refuse_other(directory, owner)


def refuse_taken(directory: AnyPath, owner: Mapping[str, str], known: bool) -> None:
    """Refuse what `take_dataset` would refuse, and touch nothing."""
    if (directory / MARKER).exists():
        _refuse_other(directory, owner)
    elif not known:
        _refuse_visible(directory)


def _mark(directory: AnyPath, owner: Mapping[str, str]) -> None:
    replace_from(directory, directory / MARKER, record_chunks(owner), "sink.marker", sync=False)


def _refuse_other(directory: AnyPath, owner: Mapping[str, str]) -> None:
    found = read_record(directory / MARKER)
    if found != owner:
        whose = "this program" if found.get("home") == owner["home"] else "another program"
        raise RunError(
            "dataset-in-use",
            f"{directory} already holds the answers of `{found.get('key')}` of {whose}",
            help="give every query a path of its own, or remove that directory first",
        )


def sync_way(directory: AnyPath) -> None:
    """Make the way to a dataset durable."""
    if isinstance(directory, RemotePath):
        return
    for path in (directory.parent, directory.parent.parent):
        sync_directory(path)


def _refuse_visible(directory: AnyPath) -> None:
    visible = [name for name in entries(directory) if not name.startswith((".", "_"))]
    if visible:
        raise RunError(
            "dataset-not-empty",
            f"{directory} holds other files, such as {min(visible)}",
            help="name an empty or new directory in the option 'path'",
        )


def staging_for(directory: AnyPath, preferred: AnyPath) -> AnyPath:
    """A directory from which a rename reaches the dataset: the preferred one, else one beside the dataset."""
    if isinstance(directory, RemotePath):
        return directory
    beside = directory.parent / f".{directory.name}.weft-staging"
    for candidate in (preferred, beside) if isinstance(preferred, Path) else (beside,):
        with suppress(OSError):
            candidate.mkdir(exist_ok=True)
            if _can_rename(candidate, directory):
                return candidate
    inside = directory / ".weft-staging"  # a mount of its own: nothing outside can be renamed into it
    make_directory(inside)
    return inside


def _can_rename(source: Path, target: Path) -> bool:
    name = f".{secrets.token_hex(6)}"
    (source / name).touch()
    try:
        os.replace(source / name, target / name)
        return True
    except OSError:
        return False
    finally:
        (source / name).unlink(missing_ok=True)
        (target / name).unlink(missing_ok=True)
