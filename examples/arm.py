"""What an arm's two angles say about its motors: models against arithmetic (docs/choosing-a-filter.md).

Run: .venv/bin/python examples/arm.py [PICTURE.svg]
"""

import sys

from polygait.charts import save_chart
from polygait.experiments.arm import MOTORS, reveal
from polygait.experiments.arm_chart import chart

revealed = reveal()
print(f"{'the model sees':<24}" + "".join(f"{f'{motor}: found':>18}{'by hand':>10}" for motor in MOTORS))
for one in revealed:
    cells = zip(one.found.variance, one.expected, strict=True)
    print(f"{one.name:<24}" + "".join(f"{found:>18.4f}{expected:>10.4f}" for found, expected in cells))
if len(sys.argv) > 1:
    print(save_chart(chart(revealed), sys.argv[1]))
