"""Tools of a provider that the gateway runs in its place: functions for them, rounds, and what is kept of runs."""
