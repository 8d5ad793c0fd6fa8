"""What this dialect serves beside plain requests: kept answers and compaction."""
