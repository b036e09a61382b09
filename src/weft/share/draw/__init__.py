"""The shared plan as a picture: rows, feeds, and the windows that are answered from them."""
