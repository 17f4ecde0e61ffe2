"""Functions for worker processes, with every kind of misbehaviour that a limit has to deal with."""

import os
import re
import signal
import time
from pathlib import Path


def misbehave(item):
    """Return the item, unless it is the name of a fault."""
    if item == "spin":
        while True:
            pass
    if item == "C":  # one call into C that Python cannot interrupt and that takes an age
        re.match("(a+)+$", "a" * 60 + "b")
    if item == "sleep":
        time.sleep(1000)
    if item == "nap":
        time.sleep(0.6)
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "raise":
        raise KeyError("no such thing")
    if item == "exit":
        raise SystemExit(7)
    if item == "print":
        print("=" * 100)
    if isinstance(item, Path) and not item.exists():  # it dies once
        item.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def slowly(item):
    time.sleep(0.02)
    return [item, os.getpid()]
