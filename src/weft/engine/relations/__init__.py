"""Relations that change over time, carried out: operators on lives and changes, step by step."""
