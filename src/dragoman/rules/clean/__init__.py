"""Rules that clean: leftovers, nulls, unknown fields and roles."""
