"""The synthesize stage from its command line: outputs, figures, determinism, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import tasks.synthesize.__main__ as stage
from tasks.records import Task, ToolSpec, digest_of, read_shard, read_shards
from tasks.servers import environment
from tasks.synthesize.__main__ import main
from tasks.synthesize.splits import combination

PARAMS: dict[str, Any] = {
    "seed": 2,
    "rounds": {"r1": {"from": "warmup"}},
    "runtime": {"workers": 1},
    "tracking": {"enabled": False},
    "servers": {"names": ["banking", "filesystem"]},
    "synthesize": {"train": 60, "validation": 12, "test": 24, "worlds": 4, "depths": {1: 2.0, 2: 2.0, 3: 1.0, 4: 1.0}},
    "rollout": {"tasks": 8},
    "grpo": {"validation_tasks": 8},
    "evaluate": {"tasks": 8},
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    YAML().dump(PARAMS, tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def go(out: str, **sections: Any) -> int:
    YAML().dump(sections, Path("more.yaml"))
    return main(["--params", "more.yaml", "--out", out])


def test_the_stage_writes_tasks_catalogue_card_plot_and_figures(workspace: Path) -> None:
    assert main([]) == 0
    out = workspace / "data" / "synthesize"
    made = {split: read_shards(out / "tasks" / split, Task) for split in ("train", "validation", "test")}
    assert {split: len(tasks) for split, tasks in made.items()} == {"train": 60, "validation": 12, "test": 24}
    requests = [task.turns[0] for tasks in made.values() for task in tasks]
    assert len(set(requests)) == len(requests) == 96
    specs = read_shard(out / "catalogue.parquet", ToolSpec)
    assert [spec.name for spec in specs] == list(environment(("banking", "filesystem")).specs)

    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["tasks"] == {"train": 60, "validation": 12, "test": 24}
    assert metrics["by_depth"] == {"1": 32, "2": 32, "3": 16, "4": 16}
    assert sum(metrics["by_chain_depth"].values()) == 96 and set(metrics["by_server"]) == {"banking", "filesystem"}
    assert metrics["dropped"]["no_plan"] > 0 and metrics["dropped"]["kept_out"] > 0
    assert metrics["unseen_combinations"] == sum(task.unseen_combination for task in made["test"]) > 0
    seen = {combination(task) for task in made["train"]}
    assert all(
        task.unseen_combination == (len(set(combination(task))) > 1 and combination(task) not in seen) for task in made["test"]
    )

    rows = json.loads((out / "plots" / "depth.json").read_text())
    assert {(row["split"], row["depth"]): row["tasks"] for row in rows}["train", 1] == 20
    card = (out / "card.md").read_text()
    for depth in (1, 2, 3, 4):
        example = next(task for task in made["test"] if task.depth == depth)
        assert f"**{example.id}** (depth {depth}, chain {example.chain_depth}): {example.turns[0]}" in card
    assert "| kept_out |" in card and "| train | 60 |" in card
    assert set(json.loads((out / "manifest.json").read_text())["files"]) == {
        "card.md",
        "catalogue.parquet",
        "plots/depth.json",
        *(f"tasks/{split}/part-00000.parquet" for split in made),
    }


def test_the_same_settings_give_the_same_bytes_with_any_number_of_workers(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "ALONE", 10)
    assert go("one") == 0 and go("two", runtime={"workers": 2}) == 0 and go("other", seed=3) == 0
    assert digest_of(Path("one/tasks")) == digest_of(Path("two/tasks")) != digest_of(Path("other/tasks"))
    assert Path("one/manifest.json").read_bytes() == Path("two/manifest.json").read_bytes()
    figures = [json.loads(Path(out, "metrics.json").read_text()) | {"seconds": 0} for out in ("one", "two")]
    assert figures[0] == figures[1]


def test_allowed_tools(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allowed = [
        "find_account",
        "get_balance",
        "transfer_money",
        "find_payee",
        "send_payment",
        "find_card",
        "get_card",
        "freeze_card",
    ]
    assert go("few", synthesize={"tools": allowed, "worlds": 20}) == 0
    for split in ("train", "validation", "test"):
        tasks = read_shards(Path("few", "tasks", split), Task)
        assert {call.name for task in tasks for call in task.gold.calls} <= set(allowed)
    assert go("bad", synthesize={"tools": [*allowed, "freez_card"]}) == 1
    assert "no server has a tool 'freez_card'; the nearest name is freeze_card" in capsys.readouterr().err
    assert not Path("bad").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tools": ["df"], "depths": {1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0}}, "lower synthesize.train"),
        ({"tools": ["df"]}, "synthesize.depths: no request of banking, filesystem takes 2 calls"),
    ],
)
def test_tasks_that_cannot_be_made_end_as_a_message(
    workspace: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], message: str
) -> None:
    assert go("none", synthesize=settings) == 1
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and not Path("none").exists()


def test_a_leaked_name_fails_loudly(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = stage.make_all

    def leaky(params: Any) -> Any:
        made, drops = real(params)
        name = next(name for task in made["train"] for name in task.provenance["names"])
        provenance = made["test"][0].provenance
        made["test"][0] = replace(made["test"][0], provenance={**provenance, "names": [*provenance["names"], name.upper()]})
        return made, drops

    monkeypatch.setattr(stage, "make_all", leaky)
    assert main([]) == 1
    assert "1 names of held-out worlds also occur in training requests" in capsys.readouterr().err
    assert not (workspace / "data" / "synthesize").exists()
