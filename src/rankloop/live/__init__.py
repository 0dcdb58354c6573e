"""The loop against real people: every impression is on disk before it counts, and the model is a fold of that log.

    rank ─▶ log ─▶ (clicks ─▶ log)* ─▶ close ─▶ log ─▶ fold ─▶ weights ─▶ rank

`events` says what is written down, `log` how it gets there, `stores` where it lies, `fold` what it means,
`service` who answers, `http` in which language.
"""
