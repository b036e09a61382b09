"""The constants of a machine, kept in the home of a program: a start that finds them measures nothing."""

from __future__ import annotations

import json

from weft.log.durable import show
from weft.log.paths import AnyPath
from weft.share.model.constants import SHIPPED, Constants

CALIBRATION_FILE = "calibration.json"  # in the home


def constants_of(home: AnyPath) -> Constants:
    """Those measured for this home, else the shipped ones."""
    return kept(home) or SHIPPED


def kept(home: AnyPath) -> Constants | None:
    """Those measured for this home; None if there are none, or they are of another version."""
    try:
        return Constants.from_json(json.loads((home / CALIBRATION_FILE).read_text()))
    except (OSError, ValueError):
        return None


def keep(home: AnyPath, constants: Constants) -> None:
    """Constants may be lost and measured again, so they are written like a report, not like a record."""
    show(home / CALIBRATION_FILE, json.dumps(constants.to_json(), indent=2))
