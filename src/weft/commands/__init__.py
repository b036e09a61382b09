"""The verbs of `weft`, a module each; `weft.cli` loads one when it is called."""
