"""The console: a page that shows requests and what was changed in them, and the endpoints that it asks."""
