"""The flows on a real Prefect server with a real worker per pool, read back through its API."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest
from mlflow import MlflowClient
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows import deploy, pipeline, server, stage
from tests.flows.conftest import Prefect, free_port
from tests.flows.project import Project, kill_group, make, wait_until


@pytest.fixture(scope="module")
def project(prefect: Prefect, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make(tmp_path_factory.mktemp("flows") / "project")
    prefect.deploy(project.folder, "--gpus", "2", "--cron", "30 4 * * 1")
    return project


def test_deploy_makes_pools_deployments_and_an_inactive_schedule(prefect: Prefect, project: Project) -> None:
    assert {pool: prefect.client.read_work_pool(pool).type for pool in ("cpu", "cuda")} == {"cpu": "process", "cuda": "process"}
    assert prefect.client.read_work_pool("cuda").concurrency_limit == 2
    assert prefect.client.read_deployment_by_name("stage/cuda").work_pool_name == "cuda"
    pipeline = prefect.client.read_deployment_by_name("pipeline/rungs")
    (schedule,) = pipeline.schedules
    assert (schedule.schedule.cron, schedule.active) == ("30 4 * * 1", False)
    assert pipeline.concurrency_limit or pipeline.global_concurrency_limit


def test_the_dag_runs_through_the_pools_and_can_be_read_back(prefect: Prefect, project: Project) -> None:
    run = prefect.finish("pipeline/rungs")
    assert run.state is not None
    assert run.state.is_completed(), prefect.logs(run)
    assert prefect.task_states(run) == {"policy": "Completed", "rollout@r1": "Completed", "report": "Completed"}
    assert list(prefect.task_states(run)) == ["policy", "rollout@r1", "report"]

    stages = prefect.stage_runs(run)
    assert {name: stage.work_pool_name for name, stage in stages.items()} == {
        "policy": "cpu",
        "rollout@r1": "cuda",
        "report": "cpu",
    }
    assert all(stage.state is not None and stage.state.is_completed() for stage in stages.values())
    assert "working on rollout" in prefect.logs(stages["rollout@r1"])

    # One MLflow parent for the whole flow run, although each stage ran in another worker's process.
    client = MlflowClient(project.store)
    experiment = client.get_experiment_by_name("rungs")
    assert experiment is not None
    (parent,) = client.search_runs(
        [experiment.experiment_id], f"tags.`rungs.pipeline` = '{run.id}' and tags.`rungs.role` = 'pipeline'"
    )
    assert parent.info.status == "FINISHED"
    assert str(run.id) in parent.data.tags["rungs.flow_run"]
    children = client.search_runs([experiment.experiment_id], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
    assert {child.info.run_name: child.info.status for child in children} == {
        "policy": "FINISHED",
        "rollout@r1": "FINISHED",
        "report": "FINISHED",
    }

    artifacts = prefect.artifacts(run)
    rollout = next(child for child in children if child.info.run_name == "rollout@r1")
    assert f"/runs/{rollout.info.run_id}" in artifacts["rollout-r1"]
    assert "| accuracy | 0.5 |" in artifacts["rollout-r1"]
    assert "| by_depth.2 | 0.25 |" in artifacts["rollout-r1"]
    assert f"/flow-run/{stages['rollout@r1'].id}" in artifacts["rollout-r1"]
    assert f"/runs/{parent.info.run_id}" in artifacts["pipeline"]


def test_a_failing_stage_fails_the_flow_and_stops_what_needs_it(
    prefect: Prefect, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.control("policy", tracking=False)
    project.control("rollout", fail=True, tracking=False)
    monkeypatch.chdir(project.folder)
    assert pipeline.main([]) == 1
    message = capsys.readouterr().err
    assert "error: stage rollout@r1 ended with code" in message
    assert "RuntimeError: rollout broke" in message
    (run,) = _runs(prefect, "Failed")
    assert prefect.task_states(run) == {"policy": "Completed", "rollout@r1": "Failed"}
    assert "| accuracy | 0.5 |" in prefect.artifacts(run)["policy"]
    assert prefect.told(run, "working on rollout"), prefect.logs(run)


def _runs(prefect: Prefect, state: str) -> list[FlowRun]:
    return [run for run in prefect.client.read_flow_runs() if run.state is not None and run.state.name == state]


def test_a_flow_whose_process_was_killed_is_reconciled(prefect: Prefect, project: Project) -> None:
    project.forget_stage("policy")
    project.control("policy", sleep=120, tracking=False)
    flow = project.start("-m", "flows.stage", "policy", **prefect.env)
    orphan = psutil.Process(project.wait_for_stage("policy", flow))
    (run,) = _runs(prefect, "Running")
    flow.kill()
    flow.wait()
    assert [each.id for each in _runs(prefect, "Running")] == [run.id], "Prefect itself does not notice"
    assert server.reconcile() == [run.name]
    assert not _runs(prefect, "Running")
    crashed = prefect.client.read_flow_run(run.id).state
    assert crashed is not None
    assert crashed.is_crashed()
    # What the flow had started still works, and holds DVC's lock: the next start says so.
    dvc = os.getpgid(orphan.pid)
    os.killpg(dvc, signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(dvc), "the orphaned DVC to end")


def test_a_busy_workspace_ends_the_flow_with_a_message(
    prefect: Prefect, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.forget_stage("policy")
    project.control("policy", sleep=120, tracking=False)
    holder = project.start("-m", "dvc", "repro", "policy")
    try:
        project.wait_for_stage("policy", holder)
        monkeypatch.chdir(project.folder)
        assert pipeline.main([]) == 1
    finally:
        kill_group(holder)
    lock = project.folder / ".dvc" / "tmp" / "lock"
    assert f"error: {lock} is held by process {holder.pid} (dvc repro policy)" in capsys.readouterr().err


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = make(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    return project.folder


def test_an_unreachable_api_is_named_with_the_remedy(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_port()}/api"
    with temporary_settings({PREFECT_API_URL: url}):
        assert pipeline.main([]) == deploy.main([]) == stage.main(["policy"]) == 1
    message = f"error: Prefect API {url} (PREFECT_API_URL) cannot be reached"
    assert [line.startswith(message) for line in capsys.readouterr().err.splitlines()] == [True, True, True]
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert pipeline.main(["--dispatch"]) == 1
    assert "no Prefect server: PREFECT_API_URL is not set" in capsys.readouterr().err


def test_a_bad_schedule_is_refused(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        deploy.main(["--cron", "every night"])
    assert caught.value.code == 2
    assert "--cron 'every night' is no cron expression" in capsys.readouterr().err
