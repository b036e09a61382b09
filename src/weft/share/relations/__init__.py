"""Relations of all queries woven together: decided here, shown by explain, carried out by the engine."""
