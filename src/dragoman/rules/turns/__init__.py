"""Rules about turns that must be there, or must not be the last."""
