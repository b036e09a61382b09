"""Files in a place that fsspec reaches: object stores, HDFS and the like.

    RemotePath     names a file or directory there, with the part of pathlib's manners that weft needs
    put            a file as a whole: no reader sees half of it, and it is there when the call returns

An object store shows a file when all of it has come. Elsewhere (`Root.puts_whole` is false) the file is
written under another name and moved; where a move does not replace, what was there steps aside first:

    .x.ab12.tmp ─► .x.next,  x is deleted,  .x.next ─► x       a reader that finds no x takes .x.next

Nothing is cached: what is in memory of a log is cache enough, and so nothing can be stale.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import total_ordering
from pathlib import Path
from typing import Any

from weft.errors import RunError

# These show a file only when all of it has come. A file system may say so of itself: `puts_whole = True`.
_PUT_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oci", "oss", "memory"}
_UNSUPPORTED = (NotImplementedError, TypeError, ValueError)
_NEXT = ".next"

Passing = Callable[[str], None]  # told how far a write has come: `half`, then `staged`


@dataclass(frozen=True, slots=True)
class Root:
    """Where paths begin: a URL, and the file system that it leads to."""

    url: str
    key: str  # what the file system calls it
    fs: Any

    @property
    def scheme(self) -> str:
        return self.url.partition("://")[0]

    @property
    def puts_whole(self) -> bool:
        return bool(getattr(self.fs, "puts_whole", self.scheme in _PUT_WHOLE))


@total_ordering
@dataclass(frozen=True, slots=True)
class RemotePath:
    """A file or directory below a root. Two of the same URL are equal."""

    _root: Root
    _parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "/".join((self._root.url, *self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and str(self) == str(other)

    def __lt__(self, other: RemotePath) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self._root, (*self._parts, *name.split("/")))

    def joinpath(self, *names: str) -> RemotePath:
        return RemotePath(self._root, (*self._parts, *names))

    def absolute(self) -> RemotePath:
        return self

    @property
    def name(self) -> str:
        return self._parts[-1] if self._parts else self._root.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        return RemotePath(self._root, self._parts[:-1])

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    @property
    def key(self) -> str:
        return "/".join((self._root.key, *self._parts))

    # -- reading

    def exists(self) -> bool:
        """Whether there is such a file, or a directory that holds one."""
        with _reading(self):
            return self._seen() is not None

    def _seen(self) -> str | None:
        """The key under which it is now."""
        self._root.fs.invalidate_cache()
        for key in self._keys():
            with suppress(FileNotFoundError):
                self._root.fs.info(key)
                return key
        return None

    def _keys(self) -> tuple[str, ...]:
        return (self.key,) if self._root.puts_whole else (self.key, self._beside(_NEXT))

    def _beside(self, ending: str) -> str:
        """A key in the same directory that readers of datasets leave alone."""
        return self.with_name(f".{self.name}{ending}").key

    def names(self) -> list[str]:
        """The names in this directory; none if it is not there."""
        fs = self._root.fs
        fs.invalidate_cache()
        try:
            with _reading(self):
                found = fs.ls(self.key, detail=False)
        except FileNotFoundError:
            return []
        below = self.key.strip("/") + "/"  # a file is listed as itself
        inside = [key.strip("/") for key in found if key.strip("/").startswith(below)]
        return [key.removeprefix(below) for key in inside]

    def read_bytes(self, start: int | None = None, stop: int | None = None) -> bytes:
        """All of the file or a stretch of it; a negative `start` counts from its end."""
        error = FileNotFoundError(errno.ENOENT, "it is missing", str(self))
        for key in self._keys():
            with suppress(FileNotFoundError), _reading(self):
                return bytes(self._root.fs.cat_file(key, start=start, end=stop))
        raise error

    def read_many(self, names: Sequence[str]) -> list[bytes]:
        """Files of this directory, in one call: many at a time where the store can."""
        paths = [self / name for name in names]
        with _reading(self):
            found = self._root.fs.cat([path.key for path in paths])
        return [bytes(found[path.key]) if path.key in found else path.read_bytes() for path in paths]

    def size(self) -> int:
        """In bytes."""
        with _reading(self):
            return int(self._root.fs.info(self._seen() or self.key)["size"])

    def read_text(self) -> str:
        return self.read_bytes().decode()

    # -- writing

    def put(self, data: bytes | Path, passing: Passing = lambda when: None) -> None:
        """Make this the content of the file, whatever it was; of a file here, its content, block by block."""
        with _writing(self):
            if self._root.puts_whole:
                self._pass(passing)
                self._send(self.key, data)
            else:
                with self._staged(data, passing) as staged:
                    self._replace_by(staged)

    def put_once(self, data: bytes, passing: Passing = lambda when: None) -> bool:
        """Create the file; false if it is there. Of two at once only one does, where the store can tell."""
        with _writing(self):
            if self._root.puts_whole:
                self._pass(passing)
                return self._create(data)
            with self._staged(data, passing) as staged:
                return self._move_once(staged, data)

    def make_directory(self) -> None:
        """Object stores have none."""
        if not self._root.puts_whole:
            with _writing(self):
                self._root.fs.makedirs(self.key, exist_ok=True)

    def try_out(self) -> None:
        """Raise if nothing can be written below; nothing is there afterwards that was not before."""
        tried = self / f".weft-try-{secrets.token_hex(4)}"
        self.make_directory()
        tried.put(b"")
        tried.unlink(missing_ok=True)

    def unlink(self, missing_ok: bool = False) -> None:
        with _writing(self):
            for key in reversed(self._keys()):
                try:
                    self._root.fs.rm_file(key)
                except FileNotFoundError:
                    if key == self.key and not missing_ok:
                        raise

    def remove(self, names: Iterable[str]) -> None:
        """Delete files of this directory, as far as that can be done."""
        keys = [(self / name).key for name in names]
        if not keys:
            return
        try:
            self._root.fs.rm(keys)  # many in one call, where the store can
        except Exception:
            for key in keys:
                with suppress(Exception):
                    self._root.fs.rm_file(key)

    def _send(self, key: str, data: bytes | Path) -> None:
        if isinstance(data, Path):
            self._root.fs.put_file(str(data), key)
        else:
            self._root.fs.pipe_file(key, data)

    def _pass(self, passing: Passing) -> None:
        passing("half")
        passing("staged")

    def _create(self, data: bytes) -> bool:
        fs = self._root.fs
        try:
            fs.pipe_file(self.key, data, mode="create")
            return True
        except FileExistsError:
            return False
        except Exception as error:
            if self._is_there():  # some stores say it in other words; or it came through after all
                return self.read_bytes() == data
            if not _is_unsupported(error):
                raise
        fs.pipe_file(self.key, data)  # the check of the owner is what keeps a second writer away
        return True

    def _is_there(self) -> bool:
        """As far as that can be told after a failure."""
        with suppress(Exception):
            return self._seen() is not None
        return False

    @contextmanager
    def _staged(self, data: bytes | Path, passing: Passing) -> Iterator[str]:
        staged = self._beside(f".{secrets.token_hex(4)}.tmp")
        try:
            passing("half")
            self._send(staged, data)
            passing("staged")
            yield staged
        finally:
            with suppress(Exception):  # it has been moved, as a rule
                self._root.fs.rm_file(staged)

    def _move_once(self, staged: str, data: bytes) -> bool:
        fs = self._root.fs
        if self._seen() is not None:
            return False
        try:
            fs.mv(staged, self.key)
        except Exception:
            if self._is_there():  # what did not replace; or it came through after all
                return self.read_bytes() == data
            raise
        fs.invalidate_cache()
        return not fs.exists(staged)  # some that do not replace do not say so either

    def _replace_by(self, staged: str) -> None:
        fs, beside = self._root.fs, self._beside(_NEXT)
        there = self._seen()
        if there == self.key:
            with suppress(FileNotFoundError):
                fs.rm_file(beside)  # of a write that failed half-way
            fs.mv(staged, beside)
            fs.rm_file(self.key)
            staged = beside
        fs.mv(staged, self.key)
        if there == beside:
            fs.rm_file(beside)


def _is_unsupported(error: Exception) -> bool:
    return isinstance(error, _UNSUPPORTED) or getattr(error, "errno", None) == errno.ENOSYS


@contextmanager
def _reading(path: RemotePath) -> Iterator[None]:
    """What a store says when it cannot be read, in words an operator can act on; a missing file stays one."""
    try:
        yield
    except (FileNotFoundError, RunError):
        raise
    except Exception as error:
        raise _refusal("no-access", "unreachable", f"cannot read {path}", error) from error


@contextmanager
def _writing(path: RemotePath) -> Iterator[None]:
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        raise _refusal("not-writable", "write-failed", f"cannot write {path}", error) from error


def _refusal(denied: str, failed: str, what: str, error: Exception) -> RunError:
    reason = " ".join(str(error).split()) or type(error).__name__
    if _is_denied(error):
        return RunError(
            denied,
            f"{what}: {reason}",
            help="give weft the right to it; credentials come from the environment, see docs/cluster.md",
        )
    return RunError(
        failed,
        f"{what}: {reason}",
        help="see that the place can be reached, then start again: nothing that was reported as done is lost",
    )


def _is_denied(error: Exception) -> bool:
    is_read_only = isinstance(error, NotImplementedError) or getattr(error, "errno", None) == errno.EROFS
    return is_read_only or isinstance(error, PermissionError) or "Credential" in type(error).__name__
