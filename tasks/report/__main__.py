"""The report stage: `python -m tasks.report`. Shows every round of the data folder.

Writes report.md, report.html (one file, pictures inside, offline), examples.md (episodes as a person reads them),
plots/*.png, headline.json (tasks.report.headline) and metrics.json; prints held-out accuracy by depth before and
after. It is the pipeline's last stage: when it succeeds, the pipeline's MLflow run ends.

Left out: comparisons of several data folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tasks.evaluate.tables import accuracy_table
from tasks.report import examples, pages, plots
from tasks.report.headline import headline
from tasks.report.inputs import Inputs, collect
from tasks.stage import Stage, command, write_json


def run(stage: Stage) -> Mapping[str, Any]:
    """Collects, draws, writes and prints."""
    inputs = collect(stage.data, list(stage.params.rounds))
    last = inputs.last
    pictures, left_out = _draw(stage, inputs)
    report = pages.report(inputs, pictures, left_out)
    shown = examples.page(last.folder, last.name, stage.params.report.examples)
    (stage.out / "report.md").write_text(report, encoding="utf-8")
    (stage.out / "examples.md").write_text(shown, encoding="utf-8")
    (stage.out / "report.html").write_text(pages.html([report, shown], stage.out), encoding="utf-8")
    write_json(stage.out / "headline.json", headline(last.results, inputs.seconds))
    stage.run.artifact(stage.out / "plots", "plots")
    for name in ("report.html", "report.md", "examples.md", "headline.json"):
        stage.run.artifact(stage.out / name)
    stage.run.finish_pipeline()
    _print(stage, inputs)
    overall = last.results["sampled"]["overall"]
    figures = {
        "accuracy_before": overall["before"]["value"],
        "accuracy_after": overall["after"]["value"],
        "gain": overall["gain"]["value"],
        "p_value": overall["p_value"],
        "tasks": overall["gain"]["n"],
        "rounds": len(inputs.rounds),
        "seconds_of_stages": round(sum(inputs.seconds.values()), 1),
    }
    return {name: value for name, value in figures.items() if value is not None}


def _draw(stage: Stage, inputs: Inputs) -> tuple[dict[str, str], list[str]]:
    """(title -> file of every picture, the training curves that got no panel)."""
    (stage.out / "plots").mkdir()
    pictures = {"Accuracy by depth": "plots/accuracy_by_depth.png"}
    plots.by_depth(inputs.rounds, stage.out / "plots" / "accuracy_by_depth.png")
    left_out = plots.training(inputs.rounds, stage.out / "plots" / "grpo.png")
    if (stage.out / "plots" / "grpo.png").is_file():
        pictures["GRPO, per optimisation step"] = "plots/grpo.png"
    if plots.loss(inputs.loss, stage.out / "plots" / "warmup_loss.png"):
        pictures["Warm-up loss"] = "plots/warmup_loss.png"
    return pictures, left_out


def _print(stage: Stage, inputs: Inputs) -> None:
    console = Console()
    for each in inputs.rounds:
        note = "" if each.listed else " (not in params.yaml)"
        console.print(accuracy_table(each.results, f"Held-out accuracy before and after GRPO, round {each.name}{note}"))
    final = stage.final
    lines = [
        f"Report:   {final / 'report.html'} (one file, opens in any browser), {final / 'report.md'}",
        f"Episodes: {final / 'examples.md'}",
        f"Plots:    {final / 'plots'}",
        "Pages:    `make ui` opens MLflow (runs, curves, episodes as traces) and Prefect.",
    ]
    print("\n".join(lines), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    return command("report", run, argv, sections=("report",), description=__doc__ or "")


if __name__ == "__main__":
    raise SystemExit(main())
