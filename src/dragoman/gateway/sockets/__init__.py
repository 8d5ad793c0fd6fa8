"""WebSockets of clients: each turn on one is a request like any other."""
