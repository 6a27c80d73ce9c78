"""Rubrics from contrasted trajectories: checks (the vocabulary), candidates, contrast (what survives), the stage."""
