"""What weft costs, beside what plain Spark costs: one file a question."""
