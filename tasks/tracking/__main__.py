"""`python -m tasks.tracking reconcile | show`: tidy up or list the runs of this workspace.

Left out: everything that MLflow's own pages and command line do.
"""

from __future__ import annotations

import argparse
import sys

from tasks.tracking import TrackingError, last_pipeline, reconcile


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tasks.tracking", description="MLflow runs of this workspace.")
    parser.add_argument(
        "command", choices=["reconcile", "show"], help="end runs of vanished processes; list the last pipeline's"
    )
    command = parser.parse_args(argv).command
    if command == "reconcile":
        try:
            ended = reconcile()
        except TrackingError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        for run in ended:
            print(f"{run['status']:9} {run['name']}  {run['url']}")
        print(f"{len(ended)} runs of vanished processes ended.")
        return 0
    pipeline = last_pipeline()
    if not pipeline:
        print("No pipeline has run here yet: `dvc repro`.")
        return 0
    print(f"{pipeline['status']:9} pipeline  {pipeline['url']}")
    for name, stage in pipeline["stages"].items():
        print(f"{stage['status']:9} {name}  {stage['url']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
