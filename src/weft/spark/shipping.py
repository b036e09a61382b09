"""weft for the workers of a cluster: its code, and that of what it is built on, goes with the job.

numpy and pyarrow have parts in C and must be where the workers' Python is; Spark needs them there anyway.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

PACKAGES = ("weft", "sqlglot")  # plain Python

_shipped: set[str] = set()  # the applications that have them


def ship(spark: SparkSession) -> None:
    """Send the packages to all executors, now and later; workers that are run as we are have them already."""
    context = spark.sparkContext
    if _like_us(context) or context.applicationId in _shipped:
        return
    path = Path(tempfile.mkdtemp(prefix="weft-ship-")) / "weft.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in PACKAGES:
            _add(archive, name)
    context.addPyFile(str(path))
    _shipped.add(context.applicationId)


def _like_us(context: SparkContext) -> bool:
    return str(context.master).startswith("local") and shutil.which(context.pythonExec) == sys.executable


def _add(archive: zipfile.ZipFile, package: str) -> None:
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            archive.write(path, Path(package) / path.relative_to(root))
