"""Prefect flows over the DVC pipeline: `pipeline` (the whole DAG), `stage` (one stage), `deploy`, `ui`.

Nothing in tasks/ imports this package: `dvc repro` needs no Prefect.
"""
