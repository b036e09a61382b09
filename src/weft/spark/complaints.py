"""What Spark says when it refuses something, in one line."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""PySpark has a class for most of what Spark throws, but not for all."""


def complaint(error: Exception) -> str:
    """Spark's message without its code, its state, its place and the plan it prints."""
    said = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    first = next((line for line in str(said).splitlines() if line.strip()), type(error).__name__)
    first = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", first.strip())
    first = re.sub(r"\s*SQLSTATE: \w+.*$", "", first)
    return re.sub(r";? line \d+,? pos \d+.*$", "", first).strip().removesuffix(".")


def workers_complaint(error: Exception) -> str:
    """What a Python worker, or whoever was to start one, died of: of all that is told, the innermost."""
    said = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    told, _, _ = str(said).partition("\n\tat ")  # where in Spark is nobody's concern
    causes = re.findall(r"(?:^|: )[\w.]*(?:Error|Exception): (.+)$", told, re.MULTILINE)
    return re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", causes[-1].strip()) if causes else complaint(error)
