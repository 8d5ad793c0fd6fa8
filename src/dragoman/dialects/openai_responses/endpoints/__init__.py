"""What this dialect serves beside plain requests: kept answers, conversations, background work, compaction, sockets."""
