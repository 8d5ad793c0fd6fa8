"""What the gateway answers, one file per kind of question."""
