"""What is shown on a terminal: figures, progress, the live board, reports."""
