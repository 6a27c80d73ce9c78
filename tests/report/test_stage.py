"""The report stage on hand-made data folders: what it writes, prints and refuses."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tasks.report.__main__ import main
from tests.report.folder import write_csv, write_data, write_params


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path, {"r1": "warmup"})
    return tmp_path


def test_one_round(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = write_data(project / "data", {"r1": "warmup"})["r1"]
    assert main([]) == 0
    out = project / "data" / "report"
    written = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    pictures = {"plots/accuracy_by_depth.png", "plots/grpo.png", "plots/warmup_loss.png"}
    pages = {"report.md", "report.html", "examples.md", "headline.json", "metrics.json", "manifest.json"}
    assert written == pictures | pages
    assert all((out / p).read_bytes().startswith(b"\x89PNG") for p in pictures)

    head = json.loads((out / "headline.json").read_text())
    assert set(head) == {
        "before",
        "after",
        "by_depth",
        "p_value",
        "invalid_call_rate",
        "calls_per_task",
        "seconds",
        "seed",
        "recipe",
        "greedy",
    }
    overall = results["sampled"]["overall"]
    assert head["before"] == {key: overall["before"][key] for key in ("value", "lo", "hi", "n")}
    assert (head["before"]["value"], head["after"]["value"], head["after"]["n"]) == (0.25, 0.5, 12)
    assert head["by_depth"]["6"]["after"]["value"] == 0.5
    assert head["by_depth"]["6"]["after"]["n"] == 2
    # a wrong episode has a refused call before its good one: 3 of 4 are wrong before, 2 of 4 after
    assert head["invalid_call_rate"] == {"before": pytest.approx(3 / 7, abs=1e-6), "after": pytest.approx(2 / 6, abs=1e-6)}
    assert head["calls_per_task"] == {"before": 1.75, "after": 1.5}
    assert head["greedy"]["after"]["value"] == pytest.approx(2 / 12, abs=1e-6)
    assert (head["seed"], head["recipe"]) == (0, "tier")
    names = ["synthesize", "policy", "warmup", "rollout@r1", "distill@r1", "reward@r1", "grpo@r1", "evaluate@r1"]
    assert list(head["seconds"]) == names
    assert head["seconds"]["policy"] == 2.5

    printed = capsys.readouterr().out
    assert "depth 6" in printed and "0.250 [" in printed and "0.500 [" in printed
    assert "make ui" in printed
    assert "data/report/plots" in printed and ".tmp" not in printed


def test_the_page_is_self_contained_and_says_what_the_markdown_says(project: Path) -> None:
    write_data(project / "data", {"r1": "warmup"})
    assert main([]) == 0
    out = project / "data" / "report"

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.sources: list[str] = []
            self.ids: list[str] = []
            self.links: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found = dict(attrs)
            self.sources += [found["src"] or ""] if "src" in found else []
            self.ids += [found["id"] or ""] if "id" in found else []
            self.links += [found["href"] or ""] if "href" in found else []

    reader = Reader()
    reader.feed((out / "report.html").read_text())
    assert len(reader.sources) == 3
    assert all(source.startswith("data:image/png;base64,") for source in reader.sources)
    assert reader.links == ["#examples"]
    assert reader.ids == ["report", "examples"]
    text = (out / "report.md").read_text()
    assert "0.250 [" in text and "By server" in text and "recipe tier" in text
    assert "| evaluate@r1 | 12.5 |" in text


def test_all_rounds_of_a_folder_show_and_the_last_is_the_headline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_params(project, {"r1": "warmup", "r2": "grpo/r1"})
    write_data(project / "elsewhere", {"r1": "warmup", "r2": "grpo/r1"})
    assert main(["--data", "elsewhere"]) == 0
    head = json.loads((project / "elsewhere" / "report" / "headline.json").read_text())
    assert (head["before"]["value"], head["after"]["value"]) == (0.5, 0.75)
    text = (project / "elsewhere" / "report" / "report.md").read_text()
    assert "## Round r1" in text and "## Round r2" in text and "| r2 | grpo/r1 |" in text
    printed = capsys.readouterr().out
    assert "round r1" in printed and "round r2" in printed


def test_a_round_that_params_do_not_list_shows_but_is_no_headline(project: Path) -> None:
    write_data(project / "data", {"r1": "warmup", "zzz": "grpo/r1"})
    assert main([]) == 0
    head = json.loads((project / "data" / "report" / "headline.json").read_text())
    assert head["after"]["value"] == 0.5
    assert "zzz (not in params.yaml)" in (project / "data" / "report" / "report.md").read_text()


@pytest.mark.parametrize(
    ("missing", "stage"),
    [
        ("evaluate/r1/results.json", "evaluate@r1"),
        ("grpo/r1/steps.csv", "grpo@r1"),
        ("warmup/loss.csv", "warmup"),
    ],
)
def test_a_missing_input_is_named_with_its_remedy(
    project: Path, capsys: pytest.CaptureFixture[str], missing: str, stage: str
) -> None:
    write_data(project / "data", {"r1": "warmup"})
    (project / "data" / missing).unlink()
    assert main([]) == 1
    error = capsys.readouterr().err
    assert f"data/{missing}" in error and f"`dvc repro {stage}`" in error
    assert not (project / "data" / "report").exists()


def test_missing_trajectories_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data(project / "data", {"r1": "warmup"})
    for shard in (project / "data/evaluate/r1/after/sampled/trajectories").iterdir():
        shard.unlink()
    assert main([]) == 1
    assert "evaluate/r1/after/sampled/trajectories" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("evaluate/r1/results.json", "{", "not JSON"),
        ("evaluate/r1/results.json", "[]", "holds a list"),
        ("evaluate/r1/results.json", "{}", "has no 'start'"),
        ("grpo/r1/steps.csv", "", "no column 'step'"),
        ("grpo/r1/steps.csv", "step,reward\n0,1\n1\n", "line 3"),
        ("grpo/r1/steps.csv", "step,reward\nzero,1\n", "column 'step'"),
        ("warmup/metrics.json", "{", "not JSON"),
    ],
)
def test_a_damaged_input_is_named(project: Path, capsys: pytest.CaptureFixture[str], path: str, text: str, says: str) -> None:
    write_data(project / "data", {"r1": "warmup"})
    (project / "data" / path).write_text(text)
    assert main([]) == 1
    error = capsys.readouterr().err
    assert path in error and says in error and "dvc repro" in error


def test_no_steps_no_examples_and_no_greedy(project: Path) -> None:
    from tests.evaluate.made import write_round

    write_params(project, {"r1": "warmup"}, report={"examples": 0})
    write_data(project / "data", {"r1": "warmup"})
    write_round(project / "data", "r1", {"before": 0, "after": 0}, greedy=False)
    write_csv(project / "data/grpo/r1/steps.csv", [("step", "reward")])
    write_csv(project / "data/warmup/loss.csv", [("step", "loss")])
    assert main([]) == 0
    out = project / "data" / "report"
    assert sorted(p.name for p in (out / "plots").iterdir()) == ["accuracy_by_depth.png"]
    head = json.loads((out / "headline.json").read_text())
    assert head["greedy"] is None
    assert (head["after"]["value"], head["after"]["lo"], head["p_value"]) == (0.0, 0.0, 1.0)
    assert "no optimisation step" in (out / "report.md").read_text()
    assert "No examples" in (out / "examples.md").read_text()
