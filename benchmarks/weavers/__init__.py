"""The optimizers of the literature, their costs, and searches for the best there is: yardsticks."""
