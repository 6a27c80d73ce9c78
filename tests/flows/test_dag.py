"""The DAG as DVC reads it, and one stage as a process: no Prefect server needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.command import LockBusyError, StageFailedError, busy_message, check_lock, run_stage
from flows.dag import DagError, figures, read_dag
from tests.flows.project import Project, kill_group, make


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = make(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("PYTHONPATH", project.env["PYTHONPATH"])
    return project


def test_stages_come_in_the_order_in_which_they_can_run(project: Project) -> None:
    stages = read_dag()
    assert [(stage.name, stage.pool, stage.needs) for stage in stages] == [
        ("policy", "cpu", ()),
        ("rollout@r1", "cuda", ("policy",)),
        ("report", "cpu", ("rollout@r1",)),
    ]
    assert stages[1].slug == "rollout-r1"


def test_the_names_do_not_depend_on_the_current_folder(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = read_dag()
    monkeypatch.chdir(tmp_path)
    assert read_dag(project.folder) == here


def test_an_unknown_pool_is_named_with_the_stage(project: Project) -> None:
    file = project.folder / "dvc.yaml"
    file.write_text(file.read_text().replace("pool: cuda", "pool: gpu"))
    with pytest.raises(DagError, match=r"stage rollout@r1: meta.pool is 'gpu'; use one of cpu, cuda"):
        read_dag()


def test_a_folder_without_dvc_and_a_damaged_dvc_yaml_are_named(tmp_path: Path, project: Project) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DagError, match="no DVC workspace here"):
        read_dag(tmp_path / "empty")
    (project.folder / "dvc.yaml").write_text("stages: [")
    with pytest.raises(DagError, match=r"dvc.yaml cannot be read"):
        read_dag()
    (project.folder / "dvc.yaml").write_text("stages: {}\n")
    with pytest.raises(DagError, match="no stages"):
        read_dag()


def test_a_stage_runs_once_then_is_unchanged_and_its_failure_keeps_its_last_lines(project: Project) -> None:
    lines: list[str] = []
    project.control("policy", tracking=False)
    assert run_stage("policy", {}, lines.append) is True
    assert "working on policy" in lines
    assert not any("\x1b" in line or "\r" in line for line in lines)
    assert figures(read_dag()[0]) == {"accuracy": "0.5", "by_depth.2": "0.25"}
    assert run_stage("policy", {}, lines.append) is False
    project.control("policy", fail=True, tracking=False)
    with pytest.raises(StageFailedError, match="stage policy ended with code") as caught:
        run_stage("policy", {}, lines.append)
    assert "RuntimeError: policy broke" in str(caught.value)


def test_a_busy_lock_names_its_file_its_holder_and_the_remedy(project: Project) -> None:
    project.control("policy", sleep=120, tracking=False)
    holder = project.start("-m", "dvc", "repro", "policy")
    try:
        project.wait_for_stage("policy", holder)
        for attempt in (check_lock, lambda: run_stage("policy", {}, print)):
            with pytest.raises(LockBusyError) as caught:
                attempt()
            message = str(caught.value)
            assert str(project.folder / ".dvc" / "tmp" / "lock") in message
            assert f"process {holder.pid} (dvc repro policy)" in message
            assert "Wait for it to end or stop it" in message
    finally:
        kill_group(holder)
    check_lock()
    assert "another process" in busy_message()


def test_an_interrupted_stage_leaves_no_process(project: Project) -> None:
    project.control("policy", sleep=120, tracking=False)

    def interrupt(line: str) -> None:
        if line.startswith("working on"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage("policy", {}, interrupt)
    check_lock()
    pid = project.folder / "policy.pid"
    assert not pid.exists() or not Path(f"/proc/{pid.read_text()}").exists()
