"""Which queries share slices: edge rates, costs, and the search for a cheap partition into groups."""
