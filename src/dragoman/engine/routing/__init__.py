"""Which model answers a request: decided without I/O, with a reason for everything."""
