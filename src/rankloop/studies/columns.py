"""The columns of a study's files: of a finished run's record, of what each test query got, and of curves."""

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("metric", pa.string()),
        ("online_ndcg", pa.float64()),
        ("offline_ndcg", pa.float64()),
        ("gradient_variance", pa.float64()),
        ("clicks_per_page", pa.float64()),
        ("offline_at", pa.list_(pa.int64())),
        ("offline_curve", pa.list_(pa.float64())),
        ("online_curve", pa.list_(pa.float64())),
        (
            "others",
            pa.list_(
                pa.struct(
                    [
                        ("metric", pa.string()),
                        ("online", pa.float64()),
                        ("offline", pa.float64()),
                        ("offline_curve", pa.list_(pa.float64())),
                        ("online_curve", pa.list_(pa.float64())),
                    ]
                )
            ),
        ),
        ("weights", pa.list_(pa.float64())),
        ("learning_seconds", pa.float64()),
        ("evaluation_seconds", pa.float64()),
        ("settings", pa.string()),
        ("manifest", pa.string()),
    ]
)

# What each test query got is large, and read only by those who ask for it.
QUERIES = pa.schema(
    [
        ("metrics", pa.list_(pa.string())),
        ("query_ids", pa.list_(pa.int64())),
        ("query_values", pa.list_(pa.list_(pa.float32()))),
    ]
)

CURVE = (
    "key", "grid", "collection", "user", "label", "learner", "fold", "seed", "impression", "offline_ndcg", "online_ndcg"
)  # fmt: skip
