"""What a shared plan costs, in CPU-seconds per second of stream; arithmetic only."""
