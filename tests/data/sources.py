"""Files to import, and what became of them in the store."""

import gzip
from pathlib import Path


def write(path: Path, first_query: int = 0, queries: int = 2, value: str = "0.5") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = range(first_query, first_query + queries)
    text = "".join(f"1 qid:{q} 1:{value}\n0 qid:{q} 2:0.1\n" for q in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_source(folder: Path, queries: int = 5, value: float = 0.5) -> Path:
    folder.mkdir(exist_ok=True)
    for number, split in enumerate(("train", "vali", "test")):
        lines = [f"{d % 3} qid:{10 * q + number} 1:{value} 2:{d / 4}" for q in range(queries) for d in range(4)]
        (folder / f"{split}.txt").write_text("\n".join(lines) + "\n")
    return folder


def stored(home: Path) -> list[str]:
    return sorted(p.relative_to(home).as_posix() for p in (home / "collections").glob("*/*"))
