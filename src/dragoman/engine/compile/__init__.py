"""From a client's request to what the target accepts, with the report of what was changed."""
