#!/bin/sh
# A few minutes on two cores: a small population of hopping robots, and the one that still works after damage.
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
$polygait adapt "$out" --variation broken-leg --selector racing --trials 12
$polygait evaluate "$out" --suite damage --episodes 10
$polygait report "$out"
echo "Open in a browser: $(cd "$out" && pwd)/report.html"
