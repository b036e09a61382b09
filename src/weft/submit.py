"""`weft run` as an application of spark-submit, which sets master, memory and the like.

spark-submit --master spark://host:7077 .../weft/submit.py app.sql --home /shared/app
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    from weft.cli import cli  # noqa: PLC0415  not before the path is right

    cli(["run", *sys.argv[1:]], prog_name="weft")


if __name__ == "__main__":
    if Path(sys.path[0]) == Path(__file__).parent:  # where Python finds our modules as if they were packages
        del sys.path[0]
    main()
