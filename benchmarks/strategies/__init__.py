"""Joins and set operations over windows as the literature runs them, a row at a time: yardsticks."""
