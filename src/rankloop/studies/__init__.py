"""Declared grids of runs, and what is said about them: results, statistics, figures."""
