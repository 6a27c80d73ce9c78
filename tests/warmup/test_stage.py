"""The warm-up stage: what it writes, and that a killed one continues to the same weights."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.records import Task, write_shards
from tasks.warmup.__main__ import main
from tests.policy.made import some_tasks
from tests.policy.project import contents, killed, write

STEPS = {"warmup": {"steps": 38}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write(folder, STEPS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([]) == 0
    return folder / "data/warmup"


def test_the_stage_writes_a_policy_and_its_losses(whole: Path) -> None:
    with (whole / "loss.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [0, 20]
    metrics = json.loads((whole / "metrics.json").read_text())
    assert (metrics["examples"], metrics["left_out_too_long"]) == (48, 0), "24 tasks, each once more about others"
    assert metrics["loss"] < float(rows[0]["loss"])
    assert {p.name for p in (whole / "model").iterdir()} >= {"model.safetensors", "tokenizer.json", "chat_template.jinja"}


def test_a_killed_stage_continues_to_the_same_bytes(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, STEPS)
    old = contents(tmp_path / "data/warmup")
    killed(tmp_path, "tasks.warmup", when=lambda: any(tmp_path.glob(".rungs/scratch/*/checkpoint.pt")))
    assert contents(tmp_path / "data/warmup") == old, "what was there before is not touched"
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    patterns = ("model/*", "loss.csv", "manifest.json")
    assert contents(tmp_path / "data/warmup", *patterns) == contents(whole, *patterns)


def test_no_steps_pass_the_policy_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"warmup": {"steps": 0}})
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    weights = "model.safetensors"
    assert contents(tmp_path / "data/warmup/model", weights) == contents(tmp_path / "data/policy/model", weights)


def test_tasks_of_other_servers_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path)
    t = some_tasks(1)[0]
    gold = replace(t.gold, calls=[replace(t.gold.calls[0], arguments={"wrong": 1})])
    write_shards(tmp_path / "data/synthesize/tasks/train", [replace(t, gold=gold)], Task)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 1
    assert f"task {t.id}: gold call {t.gold.calls[0].name} is refused" in capsys.readouterr().err


def test_a_policy_without_a_tokenizer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "data/policy/model" / name).unlink()
    monkeypatch.chdir(tmp_path)
    assert main([]) == 1
    assert "data/policy/model: has a model but no tokenizer" in capsys.readouterr().err


def test_a_context_that_no_demonstration_fits_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path)
    config = tmp_path / "data/policy/model/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": 8}))
    monkeypatch.chdir(tmp_path)
    assert main([]) == 1
    assert "no demonstration fits the policy's context: raise policy.scratch.context" in capsys.readouterr().err
