#!/bin/sh
# A few minutes on two cores: a small population of hopping robots, and what each member came to.
set -eu
polygait=.venv/bin/polygait
out=${1:-demo/hopper}
$polygait tasks hopper
.venv/bin/python examples/damage.py
if [ -e "$out/manifest.json" ]; then
    $polygait resume "$out"
else
    $polygait train hopper --members 3 --steps 150000 --out "$out"
fi
.venv/bin/python examples/adapt.py "$out" broken-leg
