"""Runs the command line as `python -m polygait`."""

from polygait.cli import main

main()
