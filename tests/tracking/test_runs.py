"""Runs as a real `dvc repro` leaves them in a real store, read back through MlflowClient."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from tests.flows.project import Project, kill_group, make, wait_until


@dataclass(frozen=True)
class Recorded:
    """The project and what its store holds."""

    project: Project
    client: MlflowClient

    def parents(self) -> list[Run]:
        """The pipelines' runs, the newest first."""
        return list(self.client.search_runs([self.experiment()], "tags.`rungs.role` = 'pipeline'"))

    def children(self, parent: Run) -> dict[str, Run]:
        found = self.client.search_runs([self.experiment()], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
        return {run.info.run_name: run for run in found}

    def experiment(self) -> str:
        found = self.client.get_experiment_by_name("rungs")
        assert found is not None
        return str(found.experiment_id)

    def wait_status(self, run_id: str, status: str) -> None:
        wait_until(lambda: self.client.get_run(run_id).info.status == status, f"run {run_id} to be {status}")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    project = make(tmp_path_factory.mktemp("tracking") / "project")
    code, output = project.run("-m", "dvc", "repro")
    assert code == 0, output
    yield Recorded(project, MlflowClient(project.store))


@pytest.fixture(scope="module")
def first(recorded: Recorded) -> Run:
    (parent,) = recorded.parents()
    return parent


def test_one_parent_per_repro_with_one_child_per_stage(recorded: Recorded, first: Run) -> None:
    children = recorded.children(first)
    assert set(children) == {"policy", "rollout@r1", "report"}
    assert {run.info.status for run in [first, *children.values()]} == {"FINISHED"}
    every = recorded.client.search_runs([recorded.experiment()])
    assert len(every) == 4, "no run deeper than the stages"


def test_the_parent_has_all_parameters_and_the_commit(recorded: Recorded, first: Run) -> None:
    assert first.data.params == {"seed": "7", "rounds.r1.from": "warmup", "policy.size": "3", "rollout.samples": "2"}
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=recorded.project.folder, capture_output=True, text=True, check=True)
    assert first.data.tags["mlflow.source.git.commit"] == git.stdout.strip()
    assert first.data.tags["rungs.git.dirty"] == "false"
    child = recorded.children(first)["rollout@r1"]
    assert child.data.params == {"seed": "7", "rollout.samples": "2"}
    assert child.data.tags["note"] == "from the stage"
    assert child.data.tags["rungs.round"] == "r1"


def test_metrics_are_kept_by_step_and_final_figures_stand_on_the_parent(recorded: Recorded, first: Run) -> None:
    child = recorded.children(first)["rollout@r1"]
    history = recorded.client.get_metric_history(child.info.run_id, "reward_0/mean")
    assert [(point.step, point.value) for point in history] == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)]
    assert [point.step for point in recorded.client.get_metric_history(child.info.run_id, "loss")] == [0, 1, 2, 4]
    assert child.data.metrics["nonfinite_values_dropped"] == 1
    assert "unknown" not in child.data.metrics
    assert first.data.metrics["rollout/r1/accuracy"] == 0.5
    assert first.data.metrics["report/tasks"] == 64
    assert not any("reward" in name for name in first.data.metrics)


def test_artifacts_and_data_digests(recorded: Recorded, first: Run) -> None:
    child = recorded.children(first)["rollout@r1"]
    path = Path(recorded.client.download_artifacts(child.info.run_id, "metrics.json"))
    assert json.loads(path.read_text())["accuracy"] == 0.5
    assert (recorded.project.folder / "mlflow" / "artifacts").as_uri() in child.info.artifact_uri
    (dataset,) = child.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.dataset.digest) == ("rollout/r1", "0123456789abcdef")
    assert first.data.tags["data.rollout/r1"] == "0123456789abcdef"


def test_trajectories_are_traces_with_a_span_per_call_and_an_assessment_per_component(recorded: Recorded, first: Run) -> None:
    child = recorded.children(first)["rollout@r1"]
    traces = recorded.client.search_traces(locations=[recorded.experiment()], run_id=child.info.run_id)
    by_task = {trace.info.tags["rungs.task"]: trace for trace in traces}
    assert set(by_task) == {"bank-0", "bank-4", "bank-9"}
    best = by_task["bank-9"]
    root, *spans = sorted(best.data.spans, key=lambda span: (span.parent_id is not None, span.start_time_ns))
    assert root.name == "bank-9/0"
    assert root.outputs == "Done."
    assert [(span.name, span.status.status_code.value) for span in spans] == [
        ("move", "OK"),
        ("balance", "ERROR"),
        ("parse failure", "ERROR"),
    ]
    assert spans[0].inputs == {"amount": 9, "to": "a?"}
    assert spans[0].outputs == {"id": "t1"}
    assert spans[1].outputs["kind"] == "not_found"
    found = {assessment.name: assessment.value for assessment in best.info.assessments}
    assert found["total"] == 1.0
    assert found["exec"] == 1.0
    assert found["kind"] == "score"
    assert len(found) == 9


def test_the_note_of_the_last_pipeline_leads_to_its_pages(recorded: Recorded, first: Run) -> None:
    note = json.loads((recorded.project.folder / ".rungs" / "pipeline.json").read_text())
    if note["run_id"] == first.info.run_id:  # another test may have run a later pipeline
        assert note["status"] == "FINISHED"
    code, output = recorded.project.run("-m", "tasks.tracking", "show")
    assert code == 0
    assert f"/#/experiments/{recorded.experiment()}/runs/{note['run_id']}" in output
    assert set(note["stages"]) <= {"policy", "rollout@r1", "report"}


def test_a_failing_stage_fails_its_run_and_the_pipelines(recorded: Recorded) -> None:
    recorded.project.control("report", fail=True)
    code, output = recorded.project.run("-m", "dvc", "repro")
    assert code != 0
    assert "RuntimeError: report broke" in output
    parent = recorded.parents()[0]
    children = recorded.children(parent)
    assert set(children) == {"report"}, "one more repro, one more parent"
    assert (parent.info.status, children["report"].info.status) == ("FAILED", "FAILED")
    assert children["report"].data.tags["rungs.error"] == "RuntimeError: report broke"
    text = Path(recorded.client.download_artifacts(children["report"].info.run_id, "traceback.txt")).read_text()
    assert "raise RuntimeError" in text


def test_a_killed_stage_ends_killed_at_once(recorded: Recorded) -> None:
    project = recorded.project
    project.forget_stage("rollout")
    project.control("rollout", sleep=120)
    repro = project.start("-m", "dvc", "repro", "rollout@r1")
    pid = project.wait_for_stage("rollout", repro)
    os.kill(pid, signal.SIGKILL)
    assert repro.wait(timeout=60) != 0
    # The run may be made only now: the recorder was still importing MLflow when its stage was killed.
    wait_until(lambda: recorded.parents()[0].info.status == "KILLED", "the killed pipeline's run")
    parent = recorded.parents()[0]
    child = recorded.children(parent)["rollout@r1"]
    assert child.info.status == "KILLED"
    assert "killed" in child.data.tags["rungs.error"]


def test_runs_left_by_vanished_processes_are_reconciled(recorded: Recorded) -> None:
    project = recorded.project
    project.forget_stage("rollout")
    project.control("rollout", sleep=120)
    known = {run.info.run_id for run in recorded.parents()}
    repro = project.start("-m", "dvc", "repro", "rollout@r1")
    project.wait_for_stage("rollout", repro)
    wait_until(lambda: any(run.info.run_id not in known for run in recorded.parents()), "the run to be made")
    parent = next(run for run in recorded.parents() if run.info.run_id not in known)
    wait_until(lambda: "rollout@r1" in recorded.children(parent), "the stage's run to be made")
    recorder = json.loads((project.folder / ".rungs" / "recorder.json").read_text())["pid"]
    os.kill(recorder, signal.SIGKILL)
    kill_group(repro)
    assert recorded.client.get_run(parent.info.run_id).info.status == "RUNNING"
    code, output = project.run("-m", "tasks.tracking", "reconcile")
    assert code == 0, output
    assert "2 runs of vanished processes ended" in output
    assert recorded.client.get_run(parent.info.run_id).info.status == "KILLED"
    assert recorded.children(parent)["rollout@r1"].info.status == "KILLED"


def test_a_stage_by_hand_has_a_parent_of_its_own_and_sigterm_kills_both(recorded: Recorded) -> None:
    project = recorded.project
    project.forget_stage("policy")
    project.control("policy", sleep=120)
    stage = project.start("work.py", "policy")
    pid = project.wait_for_stage("policy", stage)
    assert pid == stage.pid
    stage.terminate()
    assert stage.wait(timeout=60) == 128 + signal.SIGTERM
    parent = recorded.parents()[0]
    assert parent.info.run_name.startswith("by hand")
    assert parent.info.status == "KILLED"
    assert {name: run.info.status for name, run in recorded.children(parent).items()} == {"policy": "KILLED"}


def test_a_pipeline_that_stops_before_the_report_ends_with_its_dvc(recorded: Recorded) -> None:
    recorded.project.control("policy")
    code, output = recorded.project.run("-m", "dvc", "repro", "policy")
    assert code == 0, output
    parent = recorded.parents()[0]
    assert set(recorded.children(parent)) == {"policy"}
    recorded.wait_status(parent.info.run_id, "FINISHED")


def test_a_store_that_breaks_midway_fails_the_stage_with_the_remedy(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    project.control("policy", corrupt=True)
    code, output = project.run("work.py", "policy")
    assert code != 0
    assert f"MLflow store {project.store}" in output
    assert "MLFLOW_TRACKING_URI" in output
