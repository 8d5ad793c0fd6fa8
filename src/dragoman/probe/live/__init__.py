"""Ask a live server: `address` finds the place to ask, `asking` sends the questions within a budget."""
