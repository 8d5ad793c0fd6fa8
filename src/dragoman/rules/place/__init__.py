"""Rules about where system text may stand."""
