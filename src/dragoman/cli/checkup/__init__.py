"""What `dragoman doctor` looks at: this machine, the configuration and its keys, the network."""
