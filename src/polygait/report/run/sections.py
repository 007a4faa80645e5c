"""The sections of a run's page, but for its members."""

from __future__ import annotations

import base64
from statistics import median
from typing import Any

from polygait.report.pictures.recording import Recording
from polygait.report.run.charts_conditions import condition_map, sweep_chart
from polygait.report.run.charts_training import bonus_curves, learning_curves
from polygait.report.run.findings import Findings
from polygait.report.run.gallery import Gallery, Story
from polygait.report.run.members import number, picture_rows
from polygait.report.run.reproduce import train_command
from polygait.report.web.frame import Charts
from polygait.report.web.html import Html, command, joined, table, tag
from polygait.report.web.parts import flat, gap_list, tiles
from polygait.tasks.state import StateLayout


def summary_section(findings: Findings, gallery: Gallery) -> Html:
    """What was found, in four numbers and a sentence, and what is missing."""
    returns = [one.summary["nominal_return"] for one in findings.entries]
    best, worst = max(returns), min(returns)
    chosen = _choices(findings)
    numbers = [
        ("members", str(len(returns)), f"{findings.config.steps:,} steps each"),
        ("best return", number(best), f"member {findings.best}, nothing wrong"),
        ("median return", number(median(returns)), f"worst {number(worst)}"),
    ]
    if chosen:
        numbers.append(
            ("members in use", str(len(set(chosen.values()))), f"chosen over {len(chosen)} worlds")
        )
    return joined([tiles(numbers), _told(findings, chosen), gap_list([*findings.gaps, *gallery.gaps])])


def _choices(findings: Findings) -> dict[tuple[str, str], int]:
    """The chosen member of every measured world that is no sweep."""
    worlds = dict.fromkeys(
        (cell["where"], cell["variation"]) for cell in findings.cells if cell["scale"] is None
    )
    found = {world: findings.chosen(*world) for world in worlds}
    return {world: member for world, member in found.items() if member is not None}


def _told(findings: Findings, chosen: dict[tuple[str, str], int]) -> Html | None:
    changed = {world: member for world, member in chosen.items() if world[1] != "nominal"}
    if not changed:
        return None
    others = sum(member != findings.best for member in changed.values())
    return tag(
        "p",
        f"In {others} of {len(changed)} changed worlds another member is chosen than the one that does best "
        f"when nothing is wrong (member {findings.best}).",
        class_="lead",
    )


def damage_section(findings: Findings, gallery: Gallery) -> Html | None:
    """Damages one after another: who copes, and what would happen without a choice."""
    if not gallery.stories:
        return None
    intro = (
        "What is changed is red. Each time, first the member chosen for this world, then the one that does "
        "best when nothing is wrong."
    )
    return joined([tag("p", intro), *(_story(one, gallery) for one in gallery.stories)])


def _story(story: Story, gallery: Gallery) -> Html:
    usual = "best when nothing is wrong"
    if story.chosen.job == story.usual.job:
        sides = [_side(story.chosen, story.chosen_return, f"chosen, and {usual}", gallery)]
    else:
        sides = [
            _side(story.chosen, story.chosen_return, "chosen", gallery),
            _side(story.usual, story.usual_return, usual, gallery),
        ]
    named = None if story.condition == story.variation else tag("code", story.variation)
    shown = tag("div", *sides, class_="sides")
    return tag("article", tag("h3", story.condition, " ", named), shown, class_="story")


def _side(recording: Recording, mean_return: float, word: str, gallery: Gallery) -> Html:
    member, seconds = recording.job.member, recording.seconds
    ended = f"{'falls after' if recording.fell else 'stays up for'} {seconds:.1f} s"
    images = gallery.strips.get(recording.job, [])
    said = [f" ({word}): mean return ", tag("b", number(mean_return)), f"; here it {ended}."]
    return tag(
        "div",
        picture_rows(images, f"member {member} in {recording.job.variation}") if images else None,
        tag("p", tag("b", f"Member {member}"), *said),
    )


def conditions_section(findings: Findings, charts: Charts) -> Html | None:
    """All conditions at a glance, as a map and as a table, and sweeps as curves."""
    if not findings.cells:
        return None
    cells = heat_cells(findings)
    caption = "Mean return. Framed: the member that adaptation chose; where none was made, the best measured."
    drawn = charts.add("conditions", condition_map(cells, findings.best, "container"), caption, role="choose")
    members = sorted({cell["member"] for cell in cells})
    conditions = dict.fromkeys(cell["condition"] for cell in cells)
    known = {(cell["condition"], cell["member"]): cell["mean_return"] for cell in cells}
    rows = [[one, *(number(known.get((one, member))) for member in members)] for one in conditions]
    numbers = table(["condition", *(f"member {member}" for member in members)], rows, "Mean returns")
    sweeps = [
        charts.add(f"sweep-{place}", sweep_chart(rows, condition, findings.best, "container"), role="choose")
        for place, (condition, rows) in enumerate(sweep_rows(findings).items())
    ]
    return joined(
        [
            drawn,
            tag("details", tag("summary", "The same numbers as a table"), numbers),
            tag("h3", "Dynamics sweeps") if sweeps else None,
            tag("div", *sweeps, class_="grid") if sweeps else None,
        ]
    )


def heat_cells(findings: Findings) -> list[dict[str, Any]]:
    """A cell per condition and member; a sweep is one condition, with the mean over its scales."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in findings.cells:
        groups.setdefault((_label(cell), cell["member"]), []).append(cell)
    means = {key: sum(cell["mean_return"] for cell in group) / len(group) for key, group in groups.items()}
    best = {
        label: max((key for key in means if key[0] == label), key=lambda key: means[key])[1]
        for label, _ in groups
    }
    return [
        {
            "condition": label,
            "member": member,
            "mean_return": means[label, member],
            "falls": sum(cell["falls"] for cell in group) / len(group),
            "chosen": member
            == (
                best[label]
                if group[0]["scale"] is not None
                else findings.chosen(group[0]["where"], group[0]["variation"])
            ),
        }
        for (label, member), group in groups.items()
    ]


def sweep_rows(findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """The rows of every sweep, by its name."""
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for cell in findings.cells:
        if cell["scale"] is not None:
            row = {"member": cell["member"], "scale": cell["scale"], "mean_return": cell["mean_return"]}
            sweeps.setdefault(_place(cell), []).append(row)
    return sweeps


def _label(cell: dict[str, Any]) -> str:
    return f"{_place(cell)} (sweep)" if cell["scale"] is not None else _place(cell)


def _place(cell: dict[str, Any]) -> str:
    return f"{cell['condition']} on {cell['where']}" if cell["where"] else cell["condition"]


def training_section(findings: Findings, charts: Charts) -> Html | None:
    """Learning curves, and the bonus that made members differ."""
    if not findings.log:
        return None
    drawn = [
        charts.add(
            "learning",
            learning_curves(findings.log, findings.best, "container"),
            "Return of recent episodes, with exploration, without the bonus.",
            role="choose",
        )
    ]
    if any(row["bonus_ratio"] == row["bonus_ratio"] for row in findings.log):
        drawn.append(
            charts.add(
                "bonus",
                bonus_curves(findings.log, findings.best, "container"),
                "Size of the diversity bonus against the task's reward.",
                role="choose",
            )
        )
    return tag("div", *drawn, class_="grid")


def robot_section(findings: Findings, gallery: Gallery) -> Html:
    """The robot with its names, and what the filter keeps of its state."""
    parts: list[Html] = []
    if gallery.card:
        uri = f"data:image/svg+xml;base64,{base64.b64encode(gallery.card.encode()).decode()}"
        words = f"{findings.config.task}: joints, bodies and feet"
        picture = tag("img", src=uri, alt=words)
        parts.append(tag("div", picture, class_="card", tabindex=0, role="region", aria_label=words))
    manifest = findings.run.manifest
    kept = set(manifest["filter"]["kept"])
    rows = []
    layout = StateLayout.from_json(manifest["layout"])
    for part, indices in layout.groups.items():
        names = [layout.names[index] for index in indices]
        count = sum(name in kept for name in names)
        verdict = {0: "removed", len(names): "kept"}.get(count, f"keeps {count}")
        shown = ", ".join(name.removeprefix(f"{part}.") for name in names[:6]) + (
            ", …" if len(names) > 6 else ""
        )
        rows.append([part, str(len(names)), shown, verdict])
    caption = (
        f"State: {layout.size} numbers, of which the filter keeps {len(kept)}; DiR does not see the rest"
    )
    return joined([*parts, table(["part", "size", "numbers", "filter"], rows, caption)])


def making_section(findings: Findings) -> Html:
    """How to make this run again."""
    manifest = findings.run.manifest
    settings = table(["setting", "value"], flat(findings.config.to_json()), "Configuration")
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    return joined(
        [
            tag("p", "The same seed and versions on the same kind of machine give the same bits:"),
            tag("p", command(train_command(findings.config, findings.path))),
            tag("p", f"Begun {_day(manifest['created'])}, last changed {_day(manifest['updated'])}."),
            tag("p", f"Versions: {versions}."),
            tag("details", tag("summary", "Every setting"), settings),
        ]
    )


def _day(moment: str) -> str:
    """A time of the manifest for people."""
    return moment.replace("T", " ").replace("+00:00", " UTC")
