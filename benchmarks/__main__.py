"""Every benchmark, one after another. Each also runs alone: python -m benchmarks.NAME."""

import importlib

NAMES = [
    "self_training",
    "speed",
    "growth",
    "transfer",
    "adapting",
    "moments",
    "noise",
    "mechanisms",
    "per_record",
    "privacy_audit",
    "record_audit",
    "moments",
    "privacy_attacks",
    "digit_under_noise",
    "page",  # last: it writes what the others found
]

for name in NAMES:
    print(f"\n== {name}", flush=True)
    importlib.import_module(f"benchmarks.{name}").main()
