"""Collections on disk: memory-mapped arrays (`arrays`), made atomically (`entries`, `locks`), described (`reports`)."""
