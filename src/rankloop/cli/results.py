"""`rankloop results`: the tables of a results folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.app import Json, app
from rankloop.cli.terminal import out, print_json, print_table, table
from rankloop.display import mean_text

if TYPE_CHECKING:
    from rankloop.studies.records import Results


@app.command()
def results(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/quick.")], json: Json = False
) -> None:
    """Print what a results folder holds."""
    from rankloop.studies.records import read_results

    show_results(read_results(folder), json)


def show_results(results: "Results", json: bool) -> None:
    """One table for each grid, collection and user; or everything that they show, as JSON."""
    if json:
        print_json(_summary(results))
        return
    for grid, collection, user in _places(results):
        _show_place(results, {"grid": grid, "collection": collection, "user": user})
    impressions = max((record.impressions for record in results.records), default=0)
    out.print(
        f"\nMean ± 95 % t-interval. Online: Σ 0.9995^i · nDCG@10 of the pages shown, 2000 at most. Offline: nDCG@10 on "
        f"held-out queries\nafter {impressions:,} impressions. MDPRank learns from the true grades: a skyline."
    )


def _summary(results: "Results") -> dict[str, Any]:
    """Everything that the tables show, as plain values."""
    from rankloop.statistics import interval

    return {
        "study": results.study.name,
        "runs": len(results.records),
        "rows": [
            {"grid": grid, "collection": collection, "user": user, "label": label}
            | {
                field: interval(values)._asdict() | {"runs": values}
                for field in ("online_ndcg", "offline_ndcg", "learning_speed")
                if (values := results.values(field, grid=grid, collection=collection, user=user, label=label))
            }
            for grid, collection, user in _places(results)
            for label in results.axis("label", grid=grid, collection=collection, user=user)
        ],
        "manifest": results.records[0].manifest if results.records else {},
    }


def _show_place(results: "Results", place: dict[str, str]) -> None:
    from rankloop.statistics import compare, interval

    labels = results.axis("label", **place)
    heading = f"{place['user']} clicks, {place['collection']}"
    made = table(heading, "online nDCG@10", "", "offline nDCG@10", "", "impressions/s", "runs")
    click_learners = [label for label in labels if results.select(label=label, **place)[0].learner != "MDPRank"]
    for label in labels:
        records = results.select(label=label, **place)
        texts = []
        for field, digits in (("online_ndcg", 1), ("offline_ndcg", 4)):
            values, rivals = (results.values(field, label=one, **place) for one in (label, "PDGD"))
            mean, half = interval(values)
            text = mean_text(mean, half, digits)
            best = max((interval(results.values(field, label=one, **place)).mean for one in click_learners), default=0)
            mark = compare(values, rivals).mark if label == "ROLTR" and rivals else ""
            texts += [f"[bold]{text}[/bold]" if mean == best else text, mark]
        rate = sum(record.impressions / record.learning_seconds for record in records) / len(records)
        made.add_row(label, *texts, f"{rate:,.0f}", str(len(records)))
    out.print()
    print_table(made)
    _compare_online(results, place)


def _compare_online(results: "Results", place: dict[str, str]) -> None:
    from rankloop.statistics import compare

    ours, rivals = (results.values("online_ndcg", label=label, **place) for label in ("ROLTR", "PDGD"))
    if len(ours) > 1 and len(rivals) > 1:
        compared = compare(ours, rivals)
        out.print(
            f"ROLTR against PDGD online: {compared.difference:+.1f}, p = {compared.welch_p:.2g} (Welch), "
            f"{compared.paired_p:.2g} (paired). △ ▽ p < 0.05, ▲ ▼ p < 0.01."
        )


def _places(results: "Results") -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((record.grid, record.collection, record.user) for record in results.records))
