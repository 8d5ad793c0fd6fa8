"""What dialects may offer beside plain requests, one contract each. `dialect.py` is the contract of all."""
