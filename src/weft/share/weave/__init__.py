"""Which queries share slices: edge rates, the history of merges, and a polish of the groups that are cut from it."""
