"""Amazon Bedrock: Converse, ConverseStream, InvokeModel for Claude, and counting tokens."""
