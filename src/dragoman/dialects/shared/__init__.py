"""What all dialects share: reading, settings, rendering, streams."""
