"""File systems as they are elsewhere, for tests; their files lie in a directory here.

    bucket:///tmp/x     an object store: whole objects or none, created once if asked to; no rename, no append
    share:///tmp/x      as HDFS: half-written files can be seen, a rename never replaces, directories are made

Processes of their own find them as they would find s3fs: by the entry points of a package, see `package`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from fsspec import AbstractFileSystem, register_implementation

from weft.log.paths import AnyPath

ROOT = Path(__file__).parents[1]
_UNSEEN = ".put-"  # begins the names of objects that are not complete


class Bucket(AbstractFileSystem):
    protocol = "bucket"
    root_marker = "/"
    puts_whole = True
    down: ClassVar[dict[str, Exception]] = {}  # what is raised of keys that hold such a text

    def _try(self, key: str) -> Path:
        for text, error in self.down.items():
            if text in key:
                raise error
        return Path(self._strip_protocol(key))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        target = self._try(path)
        staged = target.with_name(f"{_UNSEEN}{secrets.token_hex(4)}")
        target.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(value)
        try:
            if mode == "create":
                os.link(staged, target)
            else:
                os.replace(staged, target)
        finally:
            staged.unlink(missing_ok=True)

    def put_file(self, lpath: str, rpath: str, **kwargs: Any) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        return self._try(path).read_bytes()[start:end]

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found = self._try(path)
        if found.is_file():
            return {"name": str(found), "size": found.stat().st_size, "type": "file"}
        if any(_objects(found)):
            return {"name": str(found), "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        found = self._try(path)
        if found.is_file():
            return [self.info(path)] if detail else [str(found)]
        names = sorted(entry for entry in _listed(found) if entry.is_file() or any(_objects(entry)))
        if not names:
            raise FileNotFoundError(path)
        return [self.info(str(name)) if detail else str(name) for name in names]

    def rm_file(self, path: str) -> None:
        self._try(path).unlink()

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        raise NotImplementedError("an object store has no rename")

    cp_file = mv


class Share(Bucket):
    protocol = "share"
    puts_whole = False

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        self._try(path).write_bytes(value)

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        source, target = self._try(path1), self._try(path2)
        os.link(source, target)  # refuses to replace
        source.unlink()

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self._try(path).mkdir(parents=True, exist_ok=exist_ok)


def _listed(directory: Path) -> list[Path]:
    return (
        [entry for entry in directory.iterdir() if not entry.name.startswith(_UNSEEN)]
        if directory.is_dir()
        else []
    )


def _objects(directory: Path) -> Iterator[Path]:
    for entry in _listed(directory):
        if entry.is_file():
            yield entry
        else:
            yield from _objects(entry)


STORES = {"bucket": Bucket, "share": Share}
for _name, _store in STORES.items():
    register_implementation(_name, _store, clobber=True)


def url(scheme: str, path: Path) -> str:
    """A place of that kind whose files lie in `path`; of the kind `here`, the path itself."""
    return str(path) if scheme == "here" else f"{scheme}://{path}"


def on_disk(path: AnyPath) -> Path:
    """Where the files of a place of these kinds are."""
    return path if isinstance(path, Path) else Path(path.key)


def package(directory: Path) -> dict[str, str]:
    """Make the file systems known to processes of their own; gives the environment to start them with."""
    about = directory / "weft_test_stores-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: weft-test-stores\nVersion: 1.0\n")
    lines = [f"{name} = tests.stores:{store.__name__}" for name, store in STORES.items()]
    (about / "entry_points.txt").write_text("\n".join(["[fsspec.specs]", *lines, ""]))
    paths = [str(directory), str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
