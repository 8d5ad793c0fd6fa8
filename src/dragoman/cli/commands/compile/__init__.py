"""Commands that compile requests, and that show what the compiler knows."""
