#!/bin/sh
# A first look: what can be named on a robot, and what damage does to one fixed motion.
set -eu
.venv/bin/polygait tasks
.venv/bin/python examples/damage.py
