"""How results look on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygait.progress import amount
from polygait.screen import console, print_table, styled

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.console import Console
    from rich.text import Text

    from polygait.adaptation import Adaptation, Interval, Trials
    from polygait.behaviour import Behaviour, ContactShares
    from polygait.experiments.filters import Diagnosis
    from polygait.experiments.motivation import Result
    from polygait.population.population import Population
    from polygait.report.web.parts import Report
    from polygait.study.status import JobStatus


def print_members(path: str, population: Population) -> None:
    """What training came to."""
    columns = ("member", "steps", "return (mean actions)", "falls", "novelty (nats)")
    if special := any(member.specialty for member in population.members):
        columns = (*columns, "specialist for")
    rows = [
        (
            str(member.index),
            f"{member.steps:,}",
            amount(member.summary["nominal_return"], member.summary["nominal_std"]),
            f"{100 * member.summary['nominal_falls']:.0f} %",
            f"{member.summary['novelty']:.2f}" if member.summary.get("novelty", math.inf) < math.inf else "–",
            *([member.specialty] if special else []),
        )
        for member in population.members
    ]
    print_table(console(), f"{path}: {len(population)} members", columns, rows)


def print_adaptation(result: Adaptation, population: Population) -> None:
    """All members with the choice marked, and what the choice is worth."""
    from polygait.resilience import stands_still

    fastest = max((member.summary.get("nominal_speed", math.nan) for member in population.members), default=0)
    rows = []
    for index, member in enumerate(population.members):
        tried = result.trials_of(index)
        speed = result.speed_of(index)
        notes = [
            "stands still" if stands_still(speed, result.falls_of(index), fastest) else "",
            "chosen" if index == result.best else "",
            f"specialist for {member.specialty}" if member.specialty else "",
            "stopped: fell too often" if index in result.stopped else "",
            f"diverged {result.diverged[index]}×" if result.diverged[index] else "",
        ]
        style = "bold green" if index == result.best else ""
        cells = (
            f"{'▶ ' if index == result.best else '  '}{index}",
            amount(member.summary["nominal_return"]),
            str(len(tried)),
            amount(tried.mean(), tried.std()) if len(tried) else "–",
            "" if math.isnan(speed) else f"{speed:.2f}",
            f"{result.falls[index]}",
            ", ".join(filter(None, notes)),
        )
        rows.append(tuple(styled(cell, style) for cell in cells))
    columns = ("member", "nominal", "trials", "return here", "m/s here", "falls", "")
    screen = console()
    print_table(screen, f"{result.task}, {result.variation}: {result.config.selector}", columns, rows)
    trials = result.trials_of(result.best).size
    told = f"Member {result.best}: {amount(result.selection_return)} in {trials} trials"
    told += _between(result.selection_interval)
    if len(result.held_out_returns):
        told += f"; {amount(result.held_out_return)} on {len(result.held_out_returns)} fresh episodes"
        told += _between(result.held_out_interval)
        told += "" if math.isnan(result.held_out_speed) else f" at {result.held_out_speed:.2f} m/s"
    screen.print(f"{told}.", style="bold")


def print_trials(trials: Trials, screen: Console) -> None:
    """What is known of every member so far, the choice marked."""
    rows = []
    for row in trials.report().iter_rows(named=True):
        known = [value for value in (row["expected"], row["uncertainty"]) if math.isfinite(value)]
        cells = (
            f"{'▶ ' if row['best'] else '  '}{row['member']}",
            trials.population.members[row["member"]].name,
            str(row["trials"]),
            amount(row["mean"]) if row["trials"] else "–",
            str(row["falls"]),
            amount(*known) if known else "–",
        )
        rows.append(tuple(styled(cell, "bold green" if row["best"] else "") for cell in cells))
    columns = ("member", "name", "trials", "mean", "falls", "expected")
    title = f"{trials.name}: {len(trials.told)} of {trials.budget} trials, {trials.selector}"
    print_table(screen, title, columns, rows)


def print_evaluation(frame: pl.DataFrame) -> None:
    """Conditions down, members across, the best of each row marked; a sweep takes a row per scale."""
    from polygait.console_resilience import print_resilience
    from polygait.resilience import best_nominal_speed, stands_still, still_speed

    members = sorted(frame["member"].unique().to_list())
    fastest = best_nominal_speed(frame)
    rows, broken, standing = [], [], False
    for (condition, scale), cells in frame.group_by("condition", "scale", maintain_order=True):
        found = {cell["member"]: cell for cell in cells.iter_rows(named=True)}
        still = {
            one for one, cell in found.items() if stands_still(cell["mean_speed"], cell["falls"], fastest)
        }
        values: list[str | Text] = [
            f"{amount(found[one]['mean_return'])}{'°' if one in still else ''}" for one in members
        ]
        best = max(found, key=lambda member: found[member]["mean_return"])
        values[members.index(best)] = styled(f"{values[members.index(best)]}*", "bold green")
        name = str(condition) if scale is None else f"{condition}={scale}"
        speed = found[best]["mean_speed"]
        rows.append((name, *values, "" if speed is None else f"{speed:.2f}"))
        standing |= bool(still)
        if flagged := int(cells["diverged"].sum()):
            broken.append(f"{flagged} of {name}")
    who = f"members {members[0]} to {members[-1]}" if len(members) > 1 else f"member {members[0]}"
    screen = console()
    title = f"Mean return of {who}; * is the best in each condition"
    print_table(screen, title, ("condition", *map(str, members), "* in m/s"), rows)
    if standing:
        screen.print(f"° stands still: slower than {still_speed(fastest):.2f} m/s.", style="dim")
    if broken:
        screen.print(f"Episodes in which the physics diverged: {', '.join(broken)}.", style="dim")
    print_resilience(screen, frame)


def print_behaviour(result: Behaviour, population: Population) -> None:
    """How differently members act, which feet carry them, and where in the state they differ."""
    screen = console()
    for form, score in result.score.items():
        value, most = styled(f"{score:.3f}", "bold"), f"at most {result.ceiling[form]:.3f}"
        screen.print(f"Diversity score ({form}): ", value, f", {most}", sep="")
    screen.print()
    if result.contacts is not None:
        _print_contacts(screen, result.contacts, result.config.episodes)
    if not result.information:
        screen.print("With one member there is nobody to differ from.")
        return
    layout = population.layout
    coarse = dict.fromkeys(name.split(".")[0] for name in layout.names)
    parts = [
        part
        for top in coarse
        for part in dict.fromkeys((top, *(group for group in layout.groups if group.startswith(f"{top}."))))
    ]
    rows = [(part, _share(result.variance[part]), _verdict(result.removed[part])) for part in parts]
    title = "Share of variance between members"
    print_table(screen, title, ("state part", "share", "the filter"), rows)
    told = {"identity": "the whole state", "own": "the run's filter", "nothing": "nothing"}
    rows = [
        (
            told[name],
            f"{one.value:.3f} ± {one.standard_error:.3f}",
            f"{one.entropy_without:.3f}",
            f"{one.entropy_with:.3f}",
        )
        for name, one in result.information.items()
    ]
    title = f"Information about the member z in nats, at most {math.log(len(population)):.3f}"
    print_table(screen, title, ("f keeps", "I(a; z | f, f′)", "H(z | f, f′)", "H(z | a, f, f′)"), rows)


def _print_contacts(screen: Console, contacts: ContactShares, episodes: int) -> None:
    shares = [*(contacts.down[:, :, place] for place in range(len(contacts.feet))), contacts.none_down]
    columns = ["member", *contacts.feet, "none"]
    if len(contacts.feet) > 1:
        shares.append(contacts.all_down)
        columns.append("all")
    rows = [
        (
            str(member),
            *(f"{100 * one[member].mean():.0f} ± {100 * one[member].std():.0f} %" for one in shares),
        )
        for member in range(len(contacts.down))
    ]
    print_table(screen, f"Time with feet on the ground, {episodes} episodes each", tuple(columns), rows)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:3.0f} %  {'█' * round(20 * value)}"


def _verdict(removed: float) -> Text:
    if removed == 1.0:
        return styled("removed", "yellow")
    return styled("kept" if removed == 0.0 else f"removed {100 * removed:.0f} %")


def print_filters(diagnosis: Diagnosis) -> None:
    """Filters from the most revealing to the least."""
    rows = [
        (
            verdict.name,
            str(verdict.kept),
            f"{verdict.inference.variance.mean():.4f}",
            f"{verdict.inference.log_likelihood:.2f}",
            f"{verdict.revealed:.2f}",
        )
        for verdict in diagnosis.verdicts
    ]
    screen = console()
    columns = ("filter", "keeps", "variance", "log-likelihood (nats)", "reveals (nats)")
    print_table(screen, "What f(s), f(s′) say about the action, on held-out episodes", columns, rows)
    told = f"{diagnosis.held_in:,} transitions learned from, {diagnosis.held_out:,} asked about. "
    told += "Variance: mean over actions, which lie in [−1, 1]."
    screen.print(told, style="dim")


def print_motivation(result: Result, written: list[Path]) -> None:
    """Models across, from the one that sees all to the one that sees least; each joint's variance down."""
    found = result.models.values()
    rows: list[tuple[str | Text, ...]] = [
        (styled("mean", "bold"), *(f"{inference.variance.mean():.4f}" for inference in found))
    ]
    for place, joint in enumerate(result.actions):
        rows.append(
            (joint.removesuffix("_joint"), *(f"{inference.variance[place]:.4f}" for inference in found))
        )
    rows.append(("log-likelihood (nats)", *(f"{inference.log_likelihood:.2f}" for inference in found)))
    screen = console()
    columns = ("joint", *(f"model {number}" for number in range(1, len(rows[0]))))
    print_table(screen, "Inference variance", columns, rows)
    for number, name in enumerate(result.models, start=1):
        screen.print(f"model {number}: {name}", style="dim")
    screen.print(
        f"{result.num_transitions:,} transitions of {len(result.returns)} episodes; the agent's return with "
        f"mean actions is {amount(result.returns.mean(), result.returns.std())}.",
        style="dim",
    )
    screen.print(f"Written: {', '.join(map(str, written))}", style="dim", soft_wrap=True)


def _between(interval: Interval) -> str:
    return f" (95 % {amount(interval.low)} to {amount(interval.high)})" if math.isfinite(interval.low) else ""


def print_report(report: Report) -> None:
    """Where the page is, and what it could not show."""
    from polygait.report.pictures.painters import drawn_by

    drawn = f", {drawn_by(report.renderer)}" if report.renderer else ""
    screen = console()
    size = f" ({report.size / 1e6:.1f} MB{drawn})"
    screen.print(styled(str(report.path), "bold"), size, sep="", soft_wrap=True)
    if report.figures:
        screen.print(f"{len(report.figures)} charts in {report.figures[0].parent}")
    for gap in report.gaps:
        screen.print(f"  {gap.what}: {gap.remedy}", style="dim", soft_wrap=True)


def print_study(name: str, statuses: Sequence[JobStatus]) -> None:
    """All jobs of a study, and how many are in which state."""
    from collections import Counter

    from polygait.study.status import STATES

    colours = {"done": "green", "running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim"}
    rows = [
        (
            one.task,
            one.method,
            str(one.seed),
            styled(one.state, colours[one.state]),
            f"{100 * one.share:.0f} %",
            f"{one.phase}, {one.steps_per_second:,.0f} steps/s" if one.steps_per_second else one.phase,
            "" if one.state == "waiting" or math.isnan(one.episode_return) else amount(one.episode_return),
            one.reason.splitlines()[0] if one.reason else "",
        )
        for one in statuses
    ]
    columns = ("task", "method", "seed", "state", "done", "now", "return", "why")
    screen = console()
    print_table(screen, name, columns, rows, keys=3)
    counted = Counter(one.state for one in statuses)
    screen.print(", ".join(f"{counted[state]} {state}" for state in STATES if counted[state]))
    for one in statuses:
        if one.state == "failed":
            screen.print(f"Log of {one.name}: {one.log}", style="dim", soft_wrap=True)
