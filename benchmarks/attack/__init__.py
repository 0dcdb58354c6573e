"""Honest traffic beside an attack: what it notices, what the service takes, and whether anything acknowledged is lost
(`make bench-attack`)."""
