"""Small models as people bring them: with and without floor, names, keyframes and ranges."""

from pathlib import Path

_LEG = """
<body name="{leg}_hip" pos="{x} {y} 0">
  <joint name="{leg}_hip_joint" axis="1 0 0" range="-0.8 0.8"/>
  <geom type="sphere" size="0.04" mass="0.3"/>
  <body name="{leg}_calf" pos="0 0 -0.05">
    <joint name="{leg}_knee_joint" axis="0 1 0" range="-2.2 -0.4"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.2"/>
    <geom type="sphere" pos="0 0 -0.2" size="0.03" mass="0.05"/>
  </body>
</body>"""
LEGS = {"FL": (0.2, 0.1), "FR": (0.2, -0.1), "RL": (-0.2, 0.1), "RR": (-0.2, -0.1)}
_MOTORS = "".join(
    f'<motor name="{leg}_{part}" joint="{leg}_{part}_joint" ctrlrange="-15 15"/>'
    for leg in LEGS
    for part in ("hip", "knee")
)
DOG = f"""<mujoco model="dog">
<compiler angle="radian"/>
<option timestep="0.004"/>
<default><joint damping="0.5" armature="0.01"/><geom friction="1"/></default>
<worldbody><body name="trunk" pos="0 0 0.4"><freejoint/>
<geom type="box" size="0.25 0.08 0.05" mass="4"/><site name="imu"/>
{"".join(_LEG.format(leg=leg, x=x, y=y) for leg, (x, y) in LEGS.items())}
</body></worldbody>
<actuator>{_MOTORS}</actuator>
<sensor><gyro name="gyro" site="imu"/><accelerometer name="acc" site="imu"/></sensor>
<keyframe><key name="home" qpos="0 0 0.25 1 0 0 0 {"0 -0.8 " * 4}"/></keyframe>
</mujoco>"""
"""A quadruped without a floor, geoms without names, motors in N·m, with a home keyframe and an IMU."""

PLANAR = """<mujoco model="planar">
<worldbody><geom type="plane" size="10 10 1"/>
<body name="torso" pos="0 0 1"><joint name="rootx" type="slide" axis="1 0 0"/>
<joint name="rootz" type="slide" axis="0 0 1"/><joint name="rooty" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.05"/>
<body name="thigh"><joint name="hip" axis="0 1 0" range="-60 60" damping="2"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04"/>
<body name="foot" pos="0 0 -0.4"><joint name="ankle" axis="0 1 0" range="-40 40" damping="2"/>
<geom name="sole" type="capsule" fromto="-0.1 0 -0.05 0.2 0 -0.05" size="0.04"/></body></body></body>
</worldbody>
<actuator><motor joint="hip" gear="50" ctrlrange="-1 1"/>
<general name="tendon" tendon="pull" dyntype="filter" dynprm="0.1" gainprm="20" ctrlrange="0 2"/></actuator>
<tendon><fixed name="pull"><joint joint="ankle" coef="1"/></fixed></tendon>
</mujoco>"""
"""A hopper in a plane whose ankle is driven by a tendon with an activation; its floor has no name."""

ARM = """<mujoco><worldbody><body><joint name="shoulder" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
<actuator><motor joint="shoulder" ctrlrange="-1 1"/></actuator></mujoco>"""
"""It can go nowhere."""


def write_model(folder: Path, text: str, name: str = "dog.xml") -> str:
    """A model in a file of its own."""
    path = folder / name
    path.write_text(text)
    return str(path)
