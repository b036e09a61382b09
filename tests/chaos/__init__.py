"""The long chaos test: fifty queries, killed again and again, answer as if nothing had happened."""
