"""What the library offers: adapt, lint, explain."""
