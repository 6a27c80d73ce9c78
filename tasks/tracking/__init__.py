"""MLflow tracking: one parent run per pipeline run, one child per stage, no deeper.

Use, in a stage:

    with stage_run("rollout", params, round="r1") as run:
        run.metrics({"reward/mean": 0.4}, step=3)
        run.artifact("data/rollout/r1/plot.png")

Runs go to a SQLite store in the workspace (`mlflow/mlflow.db`, artifacts in `mlflow/artifacts`), or to
where MLFLOW_TRACKING_URI points. The stages of one `dvc repro` are separate processes; they find their
common parent as `tasks.tracking.pipeline` says. With `tracking.enabled: false` the stage gets a NullRun.

MLflow takes about 4 s to import and to open its store, and 20 ms a call. So a stage does not import it:
it starts a recorder process (`tasks.tracking.recorder`), sends it what to record through a pipe, and
waits for it once, at the end. A recorder whose stage vanishes without a word ends its run at once.

Run: `python -m tasks.tracking reconcile` ends runs left RUNNING by processes that are gone;
`python -m tasks.tracking show` prints the runs of the last pipeline.

Left out: MLflow's model registry (DVC versions the models) and its fluent API (its active run is one per
thread; here every call names its run).
"""

from tasks.tracking.pipeline import TrackingError, finish_pipeline, last_pipeline, reconcile
from tasks.tracking.run import NullRun, Run, StageRun, stage_run

__all__ = [
    "NullRun",
    "Run",
    "StageRun",
    "TrackingError",
    "finish_pipeline",
    "last_pipeline",
    "reconcile",
    "stage_run",
]
