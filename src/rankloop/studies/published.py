"""The paper's Table 2, to print beside our own numbers wherever the same collection was run."""

# Online nDCG@10 by (collection, user), in the order of METHODS; ROLTR's mark is its gain over PDGD.
METHODS = ("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR")
_ONLINE = {
    ("mslr-web10k", "perfect"): ((519.99, 545.22, 448.65, 579.22, 587.46), "△"),
    ("mslr-web10k", "noisy"): ((477.29, 535.42, 431.27, 516.77, 543.28), "▲"),
    ("yahoo-set1", "perfect"): ((1165.11, 1191.26, 1121.92, 1310.99, 1302.11), ""),
    ("yahoo-set1", "noisy"): ((1116.89, 1137.39, 1105.05, 1227.28, 1238.10), ""),
    ("istella", "perfect"): ((510.34, 564.58, 348.15, 741.45, 808.66), "▲"),
    ("istella", "noisy"): ((408.09, 426.77, 238.30, 481.85, 654.04), "▲"),
}

TABLE_2: dict[tuple[str, str, str], tuple[float, str]] = {
    (user, method, collection): (value, mark if method == "ROLTR" else "")
    for (collection, user), (values, mark) in _ONLINE.items()
    for method, value in zip(METHODS, values, strict=True)
}
"""(user, method, published collection) → (online nDCG@10, "" or "△" p < 0.05 or "▲" p < 0.01 against PDGD)."""
