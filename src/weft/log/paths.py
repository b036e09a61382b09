"""Where something is: a path of this machine, or a URL that fsspec knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from weft.errors import RunError, nearest
from weft.log.remote import RemotePath, Root

AnyPath = Path | RemotePath

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_ALMOST_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/?(?!/)(.*)", re.DOTALL)
_USUAL = ("s3", "gs", "abfs", "hdfs", "file")  # what a scheme may be meant to be
_HADOOP = {"s3": "s3a", "gcs": "gs"}  # what Hadoop calls it


def locate(text: str | AnyPath) -> AnyPath:
    """The place that a text names; nothing is looked up there yet."""
    if not isinstance(text, str):
        return text
    if "::" in text and "://" in text:
        raise _bad(text, "weft itself decides what is cached", "write only what comes after ::")
    found = _URL.fullmatch(text)
    if found is None:
        _refuse_almost(text)
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    _refuse_password(scheme, rest)
    if set("*?[") & set(rest):
        raise _bad(text, "file systems take * ? [ for patterns", "choose a name without them")
    if scheme in ("file", "local"):
        return _local(text)
    fs, key = _file_system(scheme, text.rstrip("/"))
    if not rest.strip("/") or not key.strip("/"):
        raise _bad(text, "it names no directory", f"write {scheme}://bucket/directory")
    return RemotePath(Root(text.rstrip("/"), key.rstrip("/"), fs))


def hadoop_url(path: AnyPath) -> str:
    """What Spark is to call the place: its own file systems have other names for some."""
    if isinstance(path, Path):
        return str(path)
    scheme, _, rest = str(path).partition("://")
    return f"{_HADOOP.get(scheme, scheme)}://{rest}"


def _local(text: str) -> Path:
    split = urlsplit(text)
    if split.netloc not in ("", "localhost") or not split.path:
        raise _bad(text, "it is on no machine that can be told", "write file:///directory")
    return Path(unquote(split.path))


def _refuse_almost(text: str) -> None:
    found = _ALMOST_URL.fullmatch(text)
    if found is not None and (found[1].lower() in _USUAL or found[1].lower() in _known_schemes()):
        raise _bad(text, "a URL has two slashes after its scheme", f"write {found[1]}://{found[2]}")


def _refuse_password(scheme: str, rest: str) -> None:
    who, at, _ = rest.partition("/")[0].rpartition("@")
    if at and ":" in who:
        raise _bad(
            f"{scheme}://...",
            "there is a password in it, and where a home is gets shown and stored",
            "leave it to the environment, see docs/cluster.md",
        )


def _known_schemes() -> set[str]:
    from fsspec.registry import known_implementations, registry  # noqa: PLC0415  only for what looks like a URL

    return {*known_implementations, *registry}


def _file_system(scheme: str, url: str) -> tuple[Any, str]:
    if scheme not in _known_schemes():
        help = nearest(scheme, _USUAL) or "write s3://, gs://, abfs://, hdfs:// or another that fsspec knows"
        raise RunError("unknown-scheme", f"no file system is known for {scheme}:// in {url}", help=help)
    try:
        fs, key = _open(url)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise RunError(
            "missing-package",
            f"{url} needs a package that is not installed: {reason}",
            help=f"pip install {_package(scheme)}, here and where the executors are",
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RunError("unreachable", f"cannot open {url}: {reason}", help="look at the URL") from error
    return fs, str(key)


def _open(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs  # noqa: PLC0415  only where a place is elsewhere

    try:
        found: tuple[Any, str] = url_to_fs(url, use_listings_cache=False)
    except TypeError:  # it hands its options on to somebody who does not know this one
        found = url_to_fs(url)
    return found


def _package(scheme: str) -> str:
    from fsspec.registry import known_implementations  # noqa: PLC0415  only where a place is elsewhere

    package = str(known_implementations[scheme]["class"]).partition(".")[0]
    return "what it names" if package == "fsspec" else package


def _bad(text: str, because: str, help: str) -> RunError:
    return RunError("bad-url", f"{text} is no place for files: {because}", help=help)
