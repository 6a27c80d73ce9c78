"""The grpo stage: what it writes, that a killed one continues to the same bytes, and what it says of bad input."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tasks.grpo.__main__ import main
from tasks.grpo.watch import Recorder
from tasks.params import merge, parse
from tasks.records import Score, Task, Trajectory, read_shard, read_shards, write_shard, write_shards
from tasks.reward.outcome import judge
from tasks.reward.recipes import score_all
from tests.policy.made import servers, some_tasks
from tests.policy.project import BASE, ROOT, contents, killed, write

STEPS, SAVE = 5, 2
LAST = {
    "grpo": {
        "steps": STEPS,
        "save_steps": SAVE,
        "keep_best": False,
        "beta": 0.05,
        "final_norm_factor": 4.0,
        "learning_rate": 2e-3,
    }
}
"""The last policy is published, not the best, so that equal weights mean equal training."""
RESULTS = ("model/*", "rollouts/*", "scores/*", "steps.csv", "health.md", "manifest.json")
PROMPTS = some_tasks(5)


def project(folder: Path, overrides: Mapping[str, Any] | None = None, prompts: Sequence[Task] = PROMPTS) -> Path:
    write(folder, overrides)
    write_shards(folder / "data/reward/r1/prompts", prompts, Task)
    return folder


def stage(folder: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return main(["--round", "r1"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of an uninterrupted stage."""
    folder = project(tmp_path_factory.mktemp("whole"), LAST)
    assert stage(folder) == 0
    assert not list(folder.glob(".rungs/scratch/*")), "what a finished stage needed no longer lies there"
    return folder / "data/grpo/r1"


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "steps.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_step_has_its_row_its_rollouts_and_its_scores(whole: Path) -> None:
    rows = rows_of(whole)
    assert [row["step"] for row in rows] == [str(n) for n in range(1, STEPS + 1)]
    tasks = {t.id: t for t in PROMPTS}
    params = parse(merge(BASE, LAST), "params.yaml")
    for number, row in enumerate(rows, 1):
        trajectories = read_shard(whole / f"rollouts/step-{number:05d}.parquet", Trajectory)
        scores = read_shard(whole / f"scores/step-{number:05d}.parquet", Score)
        assert len({t.task_id for t in trajectories}) == 2 and len({(t.task_id, t.sample) for t in trajectories}) == 8
        assert scores == score_all(tasks, trajectories, servers(), params.reward, "tier"), "the stages' own rewards"
        assert float(row["reward"]) == pytest.approx(sum(s.total or 0.0 for s in scores) / 8)
        assert float(row["accuracy"]) == sum(judge(tasks[t.task_id], t).right for t in trajectories) / 8
        assert float(row["logprob_difference"]) < 1e-5
    assert {p.name for p in (whole / "rollouts").iterdir()} == {p.name for p in (whole / "scores").iterdir()}
    assert len(list((whole / "rollouts").iterdir())) == STEPS
    assert len((whole / "health.md").read_text().splitlines()) == STEPS + 2


def test_the_policy_is_trained_and_complete(whole: Path) -> None:
    start = load_file(whole.parents[1] / "warmup/model/model.safetensors")
    end = load_file(whole / "model/model.safetensors")
    assert start.keys() == end.keys() and all(not torch.equal(start[n], end[n]) for n in start)
    assert {p.name for p in (whole / "model").iterdir()} >= {"config.json", "tokenizer.json", "chat_template.jinja"}
    metrics = json.loads((whole / "metrics.json").read_text())
    tail = [float(row["reward"]) for row in rows_of(whole)[-5:]]
    assert metrics["steps"] == STEPS and metrics["reward"] == pytest.approx(sum(tail) / 5)
    assert metrics["validation"] == {}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_stage_continues_to_the_same_bytes(whole: Path, tmp_path: Path, workers: int) -> None:
    project(tmp_path, merge(LAST, {"runtime": {"workers": workers}}))
    checkpoint = f".rungs/scratch/*/checkpoints/checkpoint-{SAVE}/trainer_state.json"
    killed(tmp_path, "tasks.grpo", "--round", "r1", when=lambda: any(tmp_path.glob(checkpoint)))
    assert not (tmp_path / "data/grpo/r1").exists()
    assert stage(tmp_path) == 0
    assert contents(tmp_path / "data/grpo/r1", *RESULTS) == contents(whole, *RESULTS)
    assert not list(tmp_path.glob(".rungs/scratch/*"))


class Stop(BaseException):
    """Ends a stage where a test wants, as a kill would."""


def stopped(folder: Path, after: int) -> None:
    """Runs the stage until step `after` has been kept; after the last step, until its results are published."""
    with pytest.MonkeyPatch.context() as patch:
        keep, publish = Recorder.keep, Recorder.publish

        def keep_and_stop(self: Recorder, step: int, *args: Any) -> Any:
            row = keep(self, step, *args)
            if step == after < STEPS:
                raise Stop
            return row

        def publish_and_stop(self: Recorder, *args: Any) -> Any:
            publish(self, *args)
            raise Stop

        patch.setattr(Recorder, "keep", keep_and_stop)
        patch.setattr(Recorder, "publish", publish_and_stop)
        with pytest.raises(Stop):
            stage(folder)


@pytest.mark.parametrize("after", [1, 3, STEPS])
def test_a_stage_that_was_stopped_continues_to_the_same_bytes(whole: Path, tmp_path: Path, after: int) -> None:
    project(tmp_path, LAST)
    stopped(tmp_path, after)
    assert not (tmp_path / "data/grpo/r1").exists()
    if after == STEPS:
        (last,) = tmp_path.glob(f".rungs/scratch/*/checkpoints/checkpoint-{STEPS}/model.safetensors")
        found, expected = load_file(whole / "model/model.safetensors"), load_file(last)
        assert all(torch.equal(found[name], expected[name]) for name in found), "what is published is the last policy"
    assert stage(tmp_path) == 0
    assert contents(tmp_path / "data/grpo/r1", *RESULTS) == contents(whole, *RESULTS)


def test_a_checkpoint_that_was_cut_is_passed_over(whole: Path, tmp_path: Path) -> None:
    project(tmp_path, LAST)
    stopped(tmp_path, STEPS)
    (checkpoint,) = tmp_path.glob(f".rungs/scratch/*/checkpoints/checkpoint-{STEPS}")
    (checkpoint / "trainer_state.json").write_text('{"global_step":')
    (checkpoint / "model.safetensors").write_bytes(b"half")
    assert stage(tmp_path) == 0
    assert contents(tmp_path / "data/grpo/r1", *RESULTS) == contents(whole, *RESULTS)


def test_with_keep_best_the_best_on_validation_is_published(tmp_path: Path) -> None:
    project(tmp_path, merge(LAST, {"grpo": {"keep_best": True, "validation_tasks": 4}}))
    stopped(tmp_path, STEPS)
    (best,) = tmp_path.glob(".rungs/scratch/*/best")
    kept = contents(best)
    assert stage(tmp_path) == 0
    out = tmp_path / "data/grpo/r1"
    assert kept.items() <= contents(out / "model").items()
    metrics = json.loads((out / "metrics.json").read_text())
    assert list(metrics["validation"]) == ["0", "2", "4", "5"]
    assert metrics["validation"][str(metrics["best_step"])] == max(metrics["validation"].values())


def test_no_steps_pass_the_policy_through(tmp_path: Path) -> None:
    project(tmp_path, {"grpo": {"steps": 0}})
    assert stage(tmp_path) == 0
    out = tmp_path / "data/grpo/r1"
    assert contents(out / "model", "*.safetensors") == contents(tmp_path / "data/warmup/model", "*.safetensors")
    # DVC ends a stage as failed when one of its outputs is not there.
    for name in ("model", "rollouts", "scores", "health.md", "manifest.json", "metrics.json", "steps.csv"):
        assert f"data/grpo/${{key}}/{name}" in (ROOT / "dvc.yaml").read_text() and (out / name).exists(), name
    assert rows_of(out) == [] and (out / "steps.csv").read_text().startswith("step,")


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the stage says when it ends with an error; it leaves no output."""
    assert stage(folder) == 1
    assert not (folder / "data/grpo/r1").exists()
    return capsys.readouterr().err


def test_missing_prompts_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(project(tmp_path) / "data/reward")
    assert "data/reward/r1/prompts: no Parquet shards of Task here. Run the stage that writes it" in refused(tmp_path, capsys)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_prompts_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    project(tmp_path, prompts=PROMPTS[:count])
    said = refused(tmp_path, capsys)
    assert f"{count} prompts carry a learning signal, a step needs 2: raise rollout.tasks or lower grpo.prompts" in said


def test_a_corrupt_shard_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shard,) = (project(tmp_path) / "data/reward/r1/prompts").iterdir()
    shard.write_bytes(shard.read_bytes()[:200])
    assert f"data/reward/r1/prompts/{shard.name}" in refused(tmp_path, capsys)


def test_missing_and_empty_validation_tasks_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path) / "data/synthesize/tasks/validation"
    shutil.rmtree(folder)
    assert "tasks/validation: no Parquet shards of Task here" in refused(tmp_path, capsys)
    folder.mkdir()
    write_shard(folder / "0.parquet", [], Task)
    said = refused(tmp_path, capsys)
    assert "tasks/validation: holds no task to choose the best policy by" in said and "grpo.keep_best" in said


def test_a_model_without_a_tokenizer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path) / "data/warmup/model"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert "data/warmup/model: has a model but no tokenizer" in refused(tmp_path, capsys)


def test_a_missing_or_cut_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path) / "data/warmup/model"
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])
    assert "data/warmup/model: its model cannot be loaded" in refused(tmp_path, capsys)
    shutil.rmtree(folder)
    assert "data/warmup/model: no model here" in refused(tmp_path, capsys)


def test_prompts_of_a_server_that_is_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, {"servers": {"names": ["calendar"]}})
    said = refused(tmp_path, capsys)
    assert PROMPTS[0].tools[0] in said and "servers.names" in said


def test_a_run_that_cannot_learn_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = {"limits": {"turn_tokens": 8, "total_tokens": 16}}
    project(tmp_path, {"rollout": short, "grpo": {"steps": 12, "save_steps": 50, "keep_best": False}})
    assert "8 steps in a row gave no learning signal; 100% of the episodes were cut by the length limit" in refused(
        tmp_path, capsys
    )


def test_an_unknown_round_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path))
    assert main(["--round", "r9"]) == 2
    assert "--round r9: no such round" in capsys.readouterr().err


def test_prompts_that_do_not_divide_into_micro_batches_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path)
    changed = merge(BASE, {"grpo": {"micro_batch": 3}})
    (tmp_path / "params.yaml").write_text(json.dumps(changed))
    assert stage(tmp_path) == 2
    assert "grpo.micro_batch 3 must divide grpo.prompts x rollout.samples = 8: use 2" in capsys.readouterr().err


def test_another_params_file_starts_afresh(tmp_path: Path) -> None:
    """What a stopped run left is used by the same settings only."""
    project(tmp_path, LAST)
    stopped(tmp_path, 3)
    (tmp_path / "params.yaml").write_text(json.dumps(merge(BASE, merge(LAST, {"grpo": {"steps": 2}, "seed": 4}))))
    assert stage(tmp_path) == 0
    assert len(rows_of(tmp_path / "data/grpo/r1")) == 2
    assert len(read_shards(tmp_path / "data/grpo/r1/rollouts", Trajectory)) == 16
