"""Rules about pictures, documents and other parts."""
