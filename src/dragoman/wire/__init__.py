"""What goes over the wire, below any dialect: server-sent events, raw JSON, bodies of errors."""
