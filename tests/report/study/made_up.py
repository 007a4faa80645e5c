"""Made-up results of a study."""

from __future__ import annotations

import polars as pl

from polygait.study.results import Results


def made_up(method="dir", feet=("right", "left")):
    """Results of two members of one seed, as a job would leave them."""
    whose = {"task": "walker", "method": method, "seed": 0}
    episodes = [
        {**whose, "member": member, "episode": episode, "foot": foot, "down": 0.1 * member + 0.05 * place}
        for member in (0, 1)
        for episode in (0, 1)
        for place, foot in enumerate(feet)
    ]
    curves = [
        {**whose, "member": one, "steps": step, "return": 10.0 * step} for one in (0, 1) for step in (64, 128)
    ]
    returns = [
        {
            **whose,
            "condition": condition,
            "scale": None,
            "member": member,
            "mean_return": 100.0 * (member + 1),
        }
        for condition in ("nominal", "broken-leg", "broken-foot")
        for member in (0, 1)
    ]
    schema = {"scale": pl.Float64}
    patterns = {
        ("walker", method, 0): {
            "feet": list(feet),
            "time_step": 0.5,
            "down": [["0110", "1000"], ["0000", "1111"]],
        }
    }
    frame = pl.DataFrame(returns, schema_overrides=schema)
    scores = pl.DataFrame([{**whose, "score": 20.0}])
    versions = {"polygait": ["0.1.0"], "mujoco": ["4.0.0", "4.0.1"]}
    return Results(
        frame,
        frame.filter(member=1),
        scores,
        pl.DataFrame(curves),
        pl.DataFrame(episodes),
        patterns,
        versions,
        1,
        2,
    )
