"""The wire formats of vendors: one package each, which parses and renders requests, answers and streams."""
