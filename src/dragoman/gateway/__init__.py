"""The ASGI application: one server for clients of every dialect."""
