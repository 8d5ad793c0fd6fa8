"""The contracts of the store, one for each need."""
