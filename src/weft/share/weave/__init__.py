"""Which queries share slices: edge rates, the history of merges, and the polish of a cut of it."""
