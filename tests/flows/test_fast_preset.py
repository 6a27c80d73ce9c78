"""The real DAG with the fast preset, through a real Prefect server and two real workers: minutes, so marked slow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.dag import read_dag
from tests.flows.conftest import Prefect
from tests.test_pipeline import workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_every_stage_runs_once_in_the_pool_that_dvc_yaml_names(prefect: Prefect, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace")
    prefect.deploy(folder)
    run = prefect.finish("pipeline/rungs", seconds=1500)
    assert run.state is not None
    assert run.state.is_completed(), prefect.logs(run)
    dag = read_dag(folder)
    assert prefect.task_states(run) == {stage.name: "Completed" for stage in dag}
    pools = {name: stage.work_pool_name for name, stage in prefect.stage_runs(run).items()}
    assert pools == {stage.name: stage.pool for stage in dag}
    assert set(pools.values()) == {"cpu", "cuda"}
    headline = json.loads((folder / "data/report/headline.json").read_text())
    assert headline["after"]["n"] == headline["before"]["n"] == 24
