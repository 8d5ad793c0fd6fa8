"""What is written down of requests: log, metrics, traces, costs."""
