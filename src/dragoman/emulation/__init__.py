"""What the program does with its emulators: they stand in for providers, judge a request, and run in tests."""
