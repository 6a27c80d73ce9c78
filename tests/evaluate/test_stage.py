"""The evaluate stage end to end with a tiny untrained policy: equal streams, resuming, outputs, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tasks.evaluate.__main__ import main, run
from tasks.params import Scratch, Synthesize, load
from tasks.policy.chat import render_call
from tasks.policy.scratch import build_model, build_tokenizer
from tasks.records import Call, Score, Task, Trajectory, digest_of, read_shards, write_shards
from tasks.servers import environment
from tasks.stage import Stage
from tasks.synthesize.tasks import make
from tasks.tracking import NullRun

TINY = {"vocabulary": 600, "layers": 1, "hidden": 16, "heads": 2, "kv_heads": 2, "intermediate": 32, "context": 512}
PARAMS = {
    "seed": 3,
    "rounds": {"r1": {"from": "warmup"}, "r2": {"from": "grpo/r1"}},
    "runtime": {"workers": 1},
    "tracking": {"enabled": False},
    "servers": {"names": ["banking"]},
    "policy": {"scratch": TINY},
    "rollout": {"batch": 5, "limits": {"turn_tokens": 8, "total_tokens": 32, "turns": 2}},
    "evaluate": {"tasks": 6, "samples": 2, "resamples": 100},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with held-out tasks, a warm-up model and another model as each round's result."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "params.yaml").write_text(json.dumps(PARAMS))
    servers = environment(("banking",))
    settings = Synthesize(train=20, validation=4, test=8, worlds=4, depths={1: 1.0, 2: 1.0})
    tasks, _ = make(servers, settings, 0, "test")
    write_shards(folder / "data" / "synthesize" / "tasks" / "test", tasks, Task)
    texts = [t.turns[0] + "".join(render_call(Call(g.id, g.name, g.arguments)) for g in t.gold.calls) for t in tasks]
    tokenizer = build_tokenizer(Scratch(**TINY), texts, list(servers.specs.values()))
    for seed, name in enumerate(("warmup", "grpo/r1", "grpo/r2")):
        build_model(Scratch(**TINY), tokenizer, seed).save_pretrained(folder / "data" / name / "model")
        tokenizer.save_pretrained(folder / "data" / name / "model")
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trajectories(folder: Path, when: str, mode: str) -> list[Trajectory]:
    return read_shards(folder / when / mode / "trajectories", Trajectory)


def test_both_policies_get_the_same_tasks_and_streams(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--round", "r1"]) == 0
    out = Path("data/evaluate/r1")
    tasks = read_shards(out / "tasks", Task)
    assert [t.id for t in tasks] == [f"test-{n:05d}" for n in range(6)]
    for mode, samples in (("sampled", 2), ("greedy", 1)):
        before, after = (trajectories(out, when, mode) for when in ("before", "after"))
        keys = [(t.id, s) for t in tasks for s in range(samples)]
        assert [(t.task_id, t.sample) for t in before] == keys == [(t.task_id, t.sample) for t in after]
        assert [t.seed for t in before] == [t.seed for t in after]
        assert len({t.seed for t in before}) == len(before)
        assert {t.policy for t in before}.isdisjoint({t.policy for t in after})
        if mode == "sampled":  # an untrained model's greedy choice is its last token again
            assert [t.completion_ids for t in before] != [t.completion_ids for t in after]
        for when in ("before", "after"):
            scores = read_shards(out / when / mode / "scores", Score)
            assert [(s.task_id, s.sample, s.recipe) for s in scores] == [(*key, "tier") for key in keys]
    results = json.loads((out / "results.json").read_text())
    assert (results["start"], results["recipe"], results["tasks"], results["samples"]) == ("warmup", "tier", 6, 2)
    overall = results["sampled"]["overall"]
    assert (overall["after"]["n"], overall["after"]["episodes"], overall["gain"]["n"]) == (6, 12, 6)
    rows = json.loads((out / "plots" / "by_depth.json").read_text())
    assert {(r["depth"], r["when"]) for r in rows} == {(d, w) for d in {t.depth for t in tasks} for w in ("before", "after")}
    assert sum(r["n"] for r in rows if r["when"] == "after") == 6
    assert (out / "plots" / "by_depth_greedy.json").is_file()
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["accuracy_after"] == overall["after"]["value"]
    assert metrics["episodes_after"] == 12 and "seconds" in metrics
    assert "depth 1" in capsys.readouterr().out

    # A round's start is its predecessor's result, and its figures are the same.
    assert main(["--round", "r2"]) == 0
    for mode in ("sampled", "greedy"):
        assert digest_of(out / "after" / mode) == digest_of(Path("data/evaluate/r2/before") / mode)


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(project: Path) -> None:
    def stage(name: str) -> Stage:
        out = project / name
        out.mkdir()
        return Stage("evaluate", "r1", load("params.yaml"), Path("data"), out, project / "scratch", NullRun())

    run(stage("first"))
    batches = sorted((project / "scratch").rglob("*.parquet"))
    assert len(batches) == 2 * (3 + 2)  # 12 sampled and 6 greedy episodes in batches of five, for two policies
    lost = project / "scratch" / "after" / "sampled" / "batch-00001.parquet"
    kept = {path: path.stat().st_mtime_ns for path in batches if path != lost}
    lost.unlink()
    run(stage("second"))
    assert digest_of(project / "first") == digest_of(project / "second")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert lost.is_file()


def test_greedy_can_be_left_out(project: Path) -> None:
    Path("off.yaml").write_text("evaluate: {greedy: false, tasks: 2}\n")
    assert main(["--round", "r1", "--params", "off.yaml", "--out", "elsewhere"]) == 0
    results = json.loads(Path("elsewhere/results.json").read_text())
    assert "greedy" not in results and results["tasks"] == 2
    assert sorted(p.name for p in Path("elsewhere/after").iterdir()) == ["sampled"]
    assert sorted(p.name for p in Path("elsewhere/plots").iterdir()) == ["by_depth.json"]


def test_a_missing_model_is_named_before_anything_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("data/grpo/r1/model")
    assert main(["--round", "r1"]) == 1
    error = capsys.readouterr().err
    assert "data/grpo/r1/model" in error and "dvc repro" in error
    assert not list(Path(".rungs").rglob("*.parquet"))
    assert not Path("data/evaluate/r1").exists()


def test_a_model_without_a_tokenizer_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in Path("data/warmup/model").glob("tokenizer*"):
        file.unlink()
    assert main(["--round", "r1"]) == 1
    assert "data/warmup/model: has a model but no tokenizer" in capsys.readouterr().err


def test_too_few_tasks_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.yaml").write_text("evaluate: {tasks: 9}\n")
    assert main(["--round", "r1", "--params", "more.yaml"]) == 1
    error = capsys.readouterr().err
    assert "holds 8 tasks, evaluate.tasks asks for 9" in error
