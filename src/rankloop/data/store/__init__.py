"""Collections on disk: memory-mapped arrays (`arrays`), made atomically (`entries`), described (`reports`)."""
