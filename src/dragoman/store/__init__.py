"""State that outlives a request: reasoning state, limits, pins, lessons, calibrations, ledger, summaries, refusals."""
