"""Runs a benchmark by name: ./dev bench tasks."""

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_")


def main() -> None:
    """Run the benchmark named first on the command line; the rest are its arguments."""
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        print("benchmarks:")
        for name in NAMES:
            summary = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").splitlines()[0]
            print(f"  ./dev bench {name:<10}{summary}")
        sys.exit(0 if len(sys.argv) < 2 else 2)
    importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])


main()
