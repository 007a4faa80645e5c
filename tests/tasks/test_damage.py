"""Changed models: every variation changes what it names, in the direction it names, and nothing else."""

import copy
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from mujoco.batch import MODEL_FIELDS

from polygait.errors import UserError
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker
from polygait.variations import FORMS, ScaleMass, Variation, parse_variation

ROBOTS = {"hopper": Hopper, "walker": Walker, "ant": Ant}
HEIGHT = {"hopper": 1, "walker": 1, "ant": 2}  # where qpos holds the torso's height
ANT_STANCE = [0, 1, 0, -1, 0, -1, 0, 1]  # hips straight, ankles within their range
each_robot = pytest.mark.parametrize("name", ROBOTS)


def make(name, variation=None, num_envs=None, **options):
    rows = num_envs or (len(variation) if isinstance(variation, list) else 1)
    return MujocoTask(ROBOTS[name](), num_envs=rows, variation=variation, num_threads=1, **options)


def fields(model):
    """Every field that may differ between environments, as it is now."""
    options = {field: getattr(model.opt, field[4:]) for field in MODEL_FIELDS if field.startswith("opt.")}
    arrays = {field: getattr(model, field) for field in MODEL_FIELDS if not field.startswith("opt.")}
    return {field: np.array(values) for field, values in (options | arrays).items()}


def row_fields(task, row=0):
    return fields(task.physics.batch.get_model(row))


def differences(one, other):
    return {field for field in one if not np.array_equal(one[field], other[field])}


def random_actions(task, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, task.num_envs, task.action_size))


def run(task, actions, resets=True):
    """Observation, reward, endings and physics of every step, (time, env, numbers)."""
    seen = []
    for action in actions:
        step = task.step(action)
        physics = (task.physics.qpos, task.physics.qvel)
        seen.append(np.column_stack([*step, *physics]))
        if resets:
            task.reset(step.terminated | step.truncated)
    return np.stack(seen)


def airborne(task, velocity=0.0):
    """Every row high above the floor, in the same pose, all joints within their range."""
    qpos = np.tile(task.model.qpos0, (task.num_envs, 1))
    qpos[:, HEIGHT[task.name]] = 20.0
    if task.name == "ant":
        qpos[:, 7:] = ANT_STANCE
    task.set_state(qpos, np.full((task.num_envs, task.model.nv), velocity))
    return qpos


def push(task, joint, action=1.0):
    """Actions for all rows that drive one joint only."""
    actions = np.zeros((task.num_envs, task.action_size))
    actions[:, task.anatomy.actions.index(joint)] = action
    return actions


# What changes in the model, by hand


class Change(NamedTuple):
    """Entries of a model field, by the names MuJoCo knows, and what they are multiplied by."""

    field: str
    parts: tuple[str, ...]
    factor: float
    column: int | None = None


# A change of mass also changes these; mj_setConst computes them.
FROM_MASS = {
    "body_subtreemass",
    "body_invweight0",
    "dof_invweight0",
    "dof_M0",
    "actuator_acc0",
    "cam_poscom0",
    "light_poscom0",
}


def rows_of(model, field, parts):
    """The rows of a field, looked up without the code under test; `*` is all of them."""
    if parts == ("*",):
        return np.arange(len(fields(model)[field]))
    if field.startswith("body_"):
        # The ant's lowest bodies have no name, their only geom has.
        named = {model.body(row).name: row for row in range(model.nbody)}
        return [named[part] if part in named else model.geom(f"{part}_geom").bodyid[0] for part in parts]
    if field.startswith("geom_"):
        return [model.geom(part).id for part in parts]
    joints = [model.joint(part).id for part in parts]
    if field.startswith("dof_"):
        return model.jnt_dofadr[joints]
    if field.startswith("actuator_"):
        return [model.actuator_trnid[:, 0].tolist().index(joint) for joint in joints]
    return joints


def edited(model, changes):
    """The nominal model edited by hand, constants computed anew."""
    model = copy.copy(model)
    for change in changes:
        owner = model.opt if change.field.startswith("opt.") else model
        values = getattr(owner, change.field.removeprefix("opt."))
        rows = rows_of(model, change.field, change.parts)
        index = rows if change.column is None else (rows, change.column)
        values[index] *= change.factor
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def locked(joint):
    return [Change("jnt_range", (joint,), 0.0)]


FEET = ("foot", "foot_left")
ANKLES = ("left_ankle", "right_ankle", "third_ankle", "fourth_ankle")
ANT_LEGS = (
    *("front_left_leg", "front_right_leg", "back_leg", "right_back_leg"),
    *("aux_1", "aux_2", "aux_3", "aux_4"),
    *ANKLES,
)
EVERY_FRICTION = [Change("geom_friction", ("*",), 0.5, column=0)]
CONDITIONS = {
    "hopper": {
        "broken-thigh": locked("thigh_joint"),
        "broken-leg": locked("leg_joint"),
        "broken-foot": locked("foot_joint"),
        "foot-mass=1.5": [Change("body_mass", ("foot",), 1.5)],
        "foot-friction=0.5": [Change("geom_friction", ("foot_geom",), 0.5, column=0)],
        "floor-friction=0.5": EVERY_FRICTION,
    },
    "walker": {
        "broken-thigh": locked("thigh_joint"),
        "broken-leg": locked("leg_joint"),
        "broken-foot": locked("foot_joint"),
        "broken-left-thigh": locked("thigh_left_joint"),
        "broken-left-leg": locked("leg_left_joint"),
        "broken-left-foot": locked("foot_left_joint"),
        "foot-mass=1.5": [Change("body_mass", FEET, 1.5)],
        "foot-friction=0.5": [Change("geom_friction", ("foot_geom", "foot_left_geom"), 0.5, column=0)],
        "floor-friction=0.5": EVERY_FRICTION,
        "right-leg-sensor": [],
        "left-leg-sensor": [],
    },
    "ant": {
        "broken-hip": locked("hip_1"),
        "broken-ankle": locked("ankle_1"),
        **{f"broken-{joint}-{leg}": locked(f"{joint}_{leg}") for joint in ("hip", "ankle") for leg in "234"},
        "leg-mass=1.5": [Change("body_mass", ANT_LEGS, 1.5)],
        "ankle-friction=0.5": [
            Change("geom_friction", tuple(f"{ankle}_geom" for ankle in ANKLES), 0.5, column=0)
        ],
        "floor-friction=0.5": EVERY_FRICTION,
        **{f"leg-{leg}-sensor": [] for leg in "1234"},
    },
}
KEYWORDS = {
    "broken(foot_joint)": locked("foot_joint"),
    "broken(foot_joint):limp": [Change("actuator_gainprm", ("foot_joint",), 0.0)],
    "broken(foot_joint):weak=0.4": [Change("actuator_gainprm", ("foot_joint",), 0.4)],
    "mass(foot*)=3": [Change("body_mass", FEET, 3.0)],
    "mass(foot):inertia=3": [Change("body_mass", ("foot",), 3.0), Change("body_inertia", ("foot",), 3.0)],
    "friction(foot_geom)=0.8": [Change("geom_friction", ("foot_geom",), 0.8, column=0)],
    "damping(leg_joint,leg_left_joint)=2": [Change("dof_damping", ("leg_joint", "leg_left_joint"), 2.0)],
    "strength(leg_joint)=0.7": [Change("actuator_gainprm", ("leg_joint",), 0.7)],
    "gravity=0.5": [Change("opt.gravity", ("*",), 0.5)],
    "sensor(torso.*)": [],
    "motor(foot_joint)": [],
    "delay=2": [],
}
MODEL_CASES = [
    *((name, text, changes) for name, table in CONDITIONS.items() for text, changes in table.items()),
    *(("walker", text, changes) for text, changes in KEYWORDS.items()),
]


@pytest.mark.parametrize(("name", "text", "changes"), MODEL_CASES, ids=lambda value: str(value)[:40])
def test_the_model_changes_where_it_is_named_and_nowhere_else(name, text, changes):
    task = make(name, [text, None])
    nominal, changed, neighbour = row_fields(make(name)), row_fields(task, 0), row_fields(task, 1)
    assert not differences(neighbour, nominal)
    allowed = {change.field for change in changes}
    if "body_mass" in allowed:
        allowed |= FROM_MASS
        assert "body_subtreemass" in differences(changed, nominal)  # the constants have followed
    assert {change.field for change in changes} <= differences(changed, nominal) <= allowed
    by_hand = fields(edited(task.model, changes))
    assert differences(changed, by_hand) <= {"opt.disableflags"}


def test_the_tables_above_cover_every_condition_and_every_verb():
    for name, table in CONDITIONS.items():
        assert {text.partition("=")[0] for text in table} == set(ROBOTS[name].conditions)
    # No robot here has a battery: test_minitaur.py has voltage. test_fault_language.py has the others.
    assert {edit.keyword for text in KEYWORDS for edit in parse_variation(text, {})} == set(FORMS) - {
        *("voltage", "offset", "backlash", "slope", "push", "torque")
    }


def test_a_joint_without_limits_gets_them_when_it_locks():
    model = make("walker", "broken(rootx)").physics.batch.get_model(0)
    joint = model.joint("rootx")
    assert joint.limited == 1
    assert joint.range.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("broken(foot_join)", "'foot_joint'"),
        ("broken(rootx):limp", "foot_joint"),
        ("strength(rooty)=2", "foot_joint"),
        ("motor(feet_joint)", "'foot_joint'"),
        ("damping(leg_jiont)=2", "'leg_joint'"),
        ("mass(fot)=2", "'foot'"),
        ("friction(flor)=2", "'floor'"),
        ("sensor(right_leg.positon)", "'right_leg.position'"),
        ("mass(foot,lego*)=2", "'leg"),
        ("broken-fut", "'broken-foot'"),
    ],
)
def test_names_that_are_not_on_the_robot_are_refused_with_near_matches(text, hint):
    with pytest.raises(UserError) as caught:
        make("walker", text)
    assert hint in caught.value.remedy


# What changes in behaviour

BROKEN = [(name, text) for name, table in CONDITIONS.items() for text in table if text.startswith("broken")]


@pytest.mark.parametrize(("name", "condition"), BROKEN)
def test_a_locked_joint_stays_near_zero_against_full_torque(name, condition):
    task = make(name, [condition, None])
    joint = ROBOTS[name].conditions[condition].removeprefix("broken(").removesuffix(")")
    place = task.model.joint(joint).qposadr[0]
    farthest = np.zeros(2)
    for direction in (-1.0, 1.0):
        qpos = airborne(task)
        qpos[:, place] = 0.0
        task.set_state(qpos, np.zeros((2, task.model.nv)))
        for _ in range(40):
            task.step(push(task, joint, direction))
            farthest = np.maximum(farthest, np.abs(task.physics.qpos[:, place]))
    assert farthest[0] < 0.05
    assert farthest[1] > 0.5


@each_robot
def test_motors_give_the_share_of_torque_that_is_left(name):
    other, *_, joint = make(name).anatomy.actions
    shares = {
        "nominal": 1.0,
        f"broken({joint}):limp": 0.0,
        f"broken({joint}):weak=0.4": 0.4,
        f"strength({joint})=2": 2.0,
        f"strength({joint})=2+broken({joint}):weak=0.25": 0.5,
        f"motor({joint})": 0.0,
    }
    task = make(name, list(shares))
    torque = task.physics.batch.bind("qfrc_actuator")
    airborne(task)
    task.step(0.5 * (push(task, joint) + push(task, other)))
    dof, other_dof = (task.model.joint(which).dofadr[0] for which in (joint, other))
    full = torque[0, dof]
    assert full != 0
    np.testing.assert_allclose(torque[:, dof], full * np.array(list(shares.values())), rtol=1e-12)
    assert np.all(torque[:, other_dof] == torque[0, other_dof]) and torque[0, other_dof] != 0
    untouched = np.setdiff1d(np.arange(task.model.nv), [dof, other_dof])
    assert not torque[:, untouched].any()


@each_robot
def test_heavier_limbs_and_stiffer_joints_move_less_under_the_same_torque(name):
    limb = {"hopper": "foot", "walker": "foot_left", "ant": "fourth_ankle"}[name]
    joint = {"hopper": "foot_joint", "walker": "foot_left_joint", "ant": "ankle_4"}[name]
    # From the one that moves most to the one that moves least.
    order = [
        [
            f"mass({limb}):inertia=0.3",
            f"mass({limb})=0.5",
            None,
            f"mass({limb})=3",
            f"mass({limb}):inertia=3",
        ],
        [f"damping({joint})=0.2", None, f"damping({joint})=3", f"damping({joint})=10"],
    ]
    for texts in order:
        task = make(name, texts)
        airborne(task)
        task.step(push(task, joint, 0.1))
        speed = np.abs(task.physics.qvel[:, task.model.joint(joint).dofadr[0]])
        assert np.all(np.diff(speed) < 0), dict(zip(texts, speed, strict=True))


@each_robot
def test_free_fall_follows_gravity_and_not_mass(name):
    scales = {None: 1.0, "gravity=0.5": 0.5, "gravity=2": 2.0, "mass(*)=3": 1.0, "gravity=2+gravity=2": 4.0}
    task = make(name, list(scales))
    airborne(task)
    for _ in range(10):
        task.step(np.zeros((task.num_envs, task.action_size)))
    fallen = 20.0 - task.physics.qpos[:, HEIGHT[name]]
    assert task.time_step is not None
    expected = 0.5 * 9.81 * (10 * task.time_step) ** 2
    np.testing.assert_allclose(fallen / expected, list(scales.values()), rtol=1e-6)


def slide(task, steps=10):
    """How far the first foot comes when all rows start on their feet at 3 m/s."""
    qpos = np.tile(task.model.qpos0, (task.num_envs, 1))
    if task.name == "ant":
        qpos[:, 2], qpos[:, 7:] = 0.55, ANT_STANCE
    else:
        qpos[:, 1] = 1.207  # where it comes to rest
    qvel = np.zeros((task.num_envs, task.model.nv))
    qvel[:, 0] = 3.0
    places = task.physics.batch.bind("geom_xpos")
    foot = task.model.geom(task.robot.feet[task.feet[0]]).id
    task.set_state(qpos, qvel)
    assert task.foot_contacts().all()
    begin = places[:, foot, 0].copy()
    for _ in range(steps):
        task.step(np.zeros((task.num_envs, task.action_size)))
    task.foot_contacts()  # brings the places up to the new state
    return places[:, foot, 0] - begin


@pytest.mark.parametrize("name", ["hopper", "walker"])
def test_feet_with_less_friction_slide_farther(name):
    less, foot, both, more = slide(
        make(name, [None, "foot-friction=0.25", "floor-friction=0.25", "friction(*)=0.05"])
    )
    assert less < foot < both < more


def test_of_the_ants_frictions_the_larger_counts():
    texts = [None, "ankle-friction=0.5", "ankle-friction=2", "floor-friction=0.5", "floor-friction=0.25"]
    nominal, slippery_ankles, sticky_ankles, slippery, ice = slide(make("ant", texts))
    assert slippery_ankles == nominal  # the floor has 1.0 and MuJoCo takes the larger
    assert sticky_ankles < nominal < slippery < ice


def test_slippery_ankles_change_nothing_at_all_and_slippery_floors_do():
    task = make("ant", [None, "ankle-friction=0.5", "floor-friction=0.5", "ankle-friction=2"])
    task.reset(seeds=[1] * 4)
    actions = np.repeat(random_actions(make("ant"), 60), 4, axis=1)
    seen = run(task, actions)
    equal = [np.array_equal(seen[:, row], seen[:, 0]) for row in range(4)]
    assert equal == [True, True, False, False]


# Onset

ONSET = 6
DELAYED = {
    "hopper": ["mass(torso)=2", "broken-leg:limp", "gravity=0.5", "damping(*)=3", "broken-foot"],
    "walker": ["strength(*)=0.5", "mass(*):inertia=2", "motor(*)", "delay=2", "broken-left-thigh:weak=0.3"],
    "ant": ["leg-mass=3", "broken-hip", "broken-ankle-3", "gravity=2+strength(*)=0.5"],
}
ONSET_CASES = [(name, text) for name, texts in DELAYED.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), ONSET_CASES)
def test_before_its_onset_a_variation_leaves_no_trace_in_every_episode(name, text):
    late = "+".join(f"{edit}@{ONSET}" for edit in text.split("+"))
    task, nominal = make(name, late), make(name)
    actions = random_actions(task, 15, seed=2)
    for _ in range(3):
        assert not differences(row_fields(task), row_fields(nominal))
        found, expected = run(task, actions, resets=False), run(nominal, actions, resets=False)
        assert np.array_equal(found[:ONSET], expected[:ONSET])
        assert not np.array_equal(found[ONSET:], expected[ONSET:])
        assert np.array_equal(task.reset(), nominal.reset())


@pytest.mark.parametrize(("name", "text"), [case for case in ONSET_CASES if case[1] not in ("delay=2",)])
def test_after_its_onset_a_variation_is_as_if_it_had_always_been_there(name, text):
    """From the state at the onset, the late change and the immediate one do the same."""
    late, early = make(name, "+".join(f"{edit}@{ONSET}" for edit in text.split("+"))), make(name, text)
    actions = random_actions(late, 12, seed=2)
    run(late, actions[:ONSET], resets=False)
    early.physics.batch.state[:] = late.physics.batch.state
    found, expected = run(late, actions[ONSET:], resets=False), run(early, actions[ONSET:], resets=False)
    physics = late.model.nq + late.model.nv
    assert np.array_equal(found[:, :, -physics:], expected[:, :, -physics:])
    assert not differences(row_fields(late), row_fields(early))


def test_rows_pass_their_onsets_on_their_own():
    """One row begins anew in between: its onset counts from its own episode."""
    task = make("walker", [f"gravity=3@{ONSET}"] * 2)
    beginning = airborne(task)
    assert task.time_step is not None
    pulls = []
    for time in range(12):
        before = task.physics.qvel[:, 1].copy()
        task.step(np.zeros((2, task.action_size)))
        pulls.append((before - task.physics.qvel[:, 1]) / (9.81 * task.time_step))
        if time == 3:
            task.set_state(beginning[[1]], np.zeros((1, task.model.nv)), env_ids=[1])
    expected = [[1.0] * ONSET + [3.0] * (12 - ONSET), [1.0] * (ONSET + 4) + [3.0] * (8 - ONSET)]
    np.testing.assert_allclose(np.transpose(pulls), expected, rtol=1e-6)


# Rows

MIXED = {
    "hopper": ["foot-mass=2", "broken-leg", "foot-friction=0.3", "broken-foot:weak=0.5@9"],
    "walker": [
        "broken-foot",
        "foot-mass=2+foot-friction=0.5",
        "right-leg-sensor:freeze",
        "floor-friction=0.4",
    ],
    "ant": ["leg-mass=2", "broken-ankle", "floor-friction=0.5", "leg-2-sensor:noise=0.3"],
}
SHARED = [
    None,
    "gravity=0.7",
    "delay=2",
    "mass(*)=1.5@5",
    "damping(*)=3+strength(*)=0.5",
    "sensor(torso.*):noise=0.1+motor(*)@10",
    None,
]


@each_robot
def test_every_row_of_a_mixed_batch_equals_its_variation_alone(name):
    texts = [*MIXED[name], *SHARED]
    together = make(name, texts)
    seeds = np.arange(len(texts)) + 20
    actions = random_actions(together, 40)
    together.reset(seeds=seeds)
    models = [row_fields(together, row) for row in range(len(texts))]
    seen = run(together, actions)
    for row, text in enumerate(texts):
        alone = make(name, text)
        alone.reset(seeds=seeds[[row]])
        assert not differences(row_fields(alone), models[row]), text
        assert np.array_equal(run(alone, actions[:, [row]])[:, 0], seen[:, row]), text


@pytest.mark.parametrize(
    "text", ["delay=3", "sensor(*):freeze@2", "mass(*)=2@4", "mass(*)=2@6", "sensor(*):noise=0.1"]
)
def test_changing_one_row_in_the_middle_of_an_episode_does_not_disturb_another(text):
    task, undisturbed = (make("walker", [text, None]) for _ in range(2))
    actions = 0.3 * random_actions(task, 20)
    assert np.array_equal(run(task, actions[:6]), run(undisturbed, actions[:6]))
    task.set_variation("gravity=2+delay=1", env_ids=[1])
    found, expected = run(task, actions[6:]), run(undisturbed, actions[6:])
    assert np.array_equal(found[:, 0], expected[:, 0])
    assert not np.array_equal(found[:, 1], expected[:, 1])


# Composition


@each_robot
def test_scales_do_not_compound_over_resets_or_repetition(name):
    text = "mass(torso)=1.5+friction(*)=0.5+gravity=0.8+damping(*)=2+strength(*)=0.9+mass(torso)=2@3"
    task = make(name, [text, None])
    once = row_fields(task)
    actions = random_actions(task, 5)
    for _ in range(5):
        run(task, actions, resets=False)
        task.reset()
        assert not differences(row_fields(task), once)
    for _ in range(3):
        task.set_variation(text, env_ids=[0])
        assert not differences(row_fields(task), once)
    run(task, actions, resets=False)
    assert row_fields(task)["body_mass"][1] == pytest.approx(3 * task.model.body_mass[1])


def test_combinations_multiply():
    heavy = row_fields(make("walker", "mass(foot)=1.5+mass(foot)=2"))
    assert not differences(heavy, row_fields(make("walker", "mass(foot)=3")))
    torque = row_fields(make("walker", "strength(*)=0.5+strength(leg_joint)=0.5"))["actuator_gainprm"][:, 0]
    assert torque.tolist() == [0.5, 0.25, 0.5, 0.5, 0.5, 0.5]


@each_robot
def test_none_restores_the_nominal_world_to_the_last_bit(name):
    task, never_changed = make(name, num_envs=2), make(name, num_envs=2)
    for text in ("mass(*):inertia=1.7+gravity=0.3", "broken(*)", "friction(*)=3+damping(*)=0.1+delay=4"):
        task.set_variation(text)
        assert differences(row_fields(task), row_fields(never_changed))
    task.set_variation(None)
    for row in range(2):
        assert not differences(row_fields(task, row), row_fields(never_changed, row))
    actions = random_actions(task, 40)
    task.reset(seeds=[1, 2])
    never_changed.reset(seeds=[1, 2])
    assert np.array_equal(run(task, actions), run(never_changed, actions))
    assert list(task.variations) == [Variation(), Variation()]


@pytest.mark.parametrize(
    "bad", ["mass(fot)=2", "sensor(arm)", "motor(knee)", "broken-knee", "mass(foot)=0", "gravity=2+", ""]
)
def test_nothing_is_half_applied(bad):
    before = ["delay=2", "foot-mass=2@3", "sensor(*):freeze", None]
    task, untouched = make("walker", before), make("walker", before)
    actions = 0.3 * random_actions(task, 20)
    assert np.array_equal(run(task, actions[:5]), run(untouched, actions[:5]))
    for attempt in (["gravity=2", bad, None, "delay=1"], [bad] * 4, bad):
        with pytest.raises(UserError):
            task.set_variation(attempt)
    assert task.variations == untouched.variations
    for row in range(4):
        assert not differences(row_fields(task, row), row_fields(untouched, row))
    assert np.array_equal(run(task, actions[5:]), run(untouched, actions[5:]))


def test_a_variation_may_be_given_as_text_or_as_edits():
    text = make("walker", "mass(foot)=1.5")
    edits = make("walker", Variation((ScaleMass("foot", 1.5),)))
    assert text.variations == edits.variations
    assert not differences(row_fields(text), row_fields(edits))
