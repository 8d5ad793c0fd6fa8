"""The life of a request: its steps, attempts, lessons and care."""
