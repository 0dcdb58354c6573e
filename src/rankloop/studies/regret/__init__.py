"""What learning costs: how far the pages shown fell behind a ranker that had been told every grade.

`skyline` fits that ranker, `measuring` turns the runs of a study into ratios of regret and tests of ends, `findings` is
what is kept of it in a results folder, `tables` and `picture` show it.
"""
