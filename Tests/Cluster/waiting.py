"""Waits for events of other processes, each with a limit."""
import time

# In seconds. An election of NATS takes up to 9, and three may follow each other.
PATIENCE = 120
# In seconds: the interval at which a condition is examined.
STEP = 0.02


class Fault(Exception):
    """Something that must happen did not."""


def until(condition, what, patience=PATIENCE):
    """Waits until the condition is true and returns its value. `what` is a text, or returns one when it is needed."""
    end = time.monotonic() + patience
    while not (value := condition()):
        if time.monotonic() > end:
            raise Fault(f"after {patience} s: {what() if callable(what) else what}")
        time.sleep(STEP)
    return value
