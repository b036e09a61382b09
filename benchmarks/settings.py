"""What a run of the benchmarks is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.data import Data, files_of


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes and repetitions. `native_files` is how many files window() is given, by range."""

    spark: SparkSession
    root: Path
    rows: int
    files: int
    warm: int
    repeat: int
    batches: int
    native_files: dict[int, int]

    def data(self, keys: int) -> tuple[Data, Path]:
        data = Data(rows=self.rows, keys=keys, files=self.files)
        return data, files_of(data, self.root)
