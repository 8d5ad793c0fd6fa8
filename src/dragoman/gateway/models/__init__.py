"""Which models there are, where a request goes, and how its target is."""
