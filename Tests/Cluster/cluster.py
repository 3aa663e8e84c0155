"""cluster.py SIGNALBOX long|short: a cluster of three nodes of NATS under faults, and the ledgers of publishers and workers.

`long` publishes at least 50,000 messages during ten rounds of faults, `short` at least 3,000 during one. Exits with status 1 if an
acknowledged message is missing, or if a client does not recover from a fault. `long` also cuts nodes off; there, what the broker loses
is only reported, and a message that it delivered must not be missing. Each node has a network namespace of its own if the
process is root in a namespace, as `run` arranges; without that, no node can be cut off, and the others run on loopback.
"""
import os
import shutil
import socket
import sys
import tempfile

import bridges
from children import exit_on_signals
from faults import CUT_NODE, DIVIDED_NODE, KILLED_NODE, KILLED_WORKER, STOPPED_NODE
from networks import Bridged, Loopback
from nodes import NODES
from trials import Trial
from waiting import Fault

# The least number of messages, and the rate of all publishers in messages per second while there are faults.
SIZES = {"long": (50_000, 100), "short": (3_000, 60)}
ROUNDS = 10
# How often a node is cut off.
CUTS = 6


def network():
    """Returns namespaces if this process is alone in its own, where nothing but a loopback device exists."""
    is_alone = os.geteuid() == 0 and [name for _, name in socket.if_nameindex()] == ["lo"] and "SIGNALBOX_NAMESPACE" in os.environ
    return Bridged(NODES) if is_alone else Loopback()


def kinds(form):
    """Returns the faults in which no acknowledged message may be lost, in order."""
    if form == "short":
        return [KILLED_NODE, KILLED_WORKER, STOPPED_NODE]
    return [KILLED_NODE, KILLED_WORKER, STOPPED_NODE, KILLED_WORKER] * ROUNDS


def trial(program, folder, place, faults, messages, rate):
    """Runs one trial, prints its table, and returns what it has found."""
    os.mkdir(folder)
    result = Trial(program, place, folder).run(faults, messages, rate)
    print(result.table())
    found = result.comparison
    print(f"cluster: {found.acknowledged} acknowledged, {len(found.missing)} lost, {found.duplicates} duplicates", flush=True)
    for line in result.missing():
        print(f"cluster: lost: {line}")
    return result


def report(*arguments):
    """Runs a trial in which the broker may lose messages or service, and returns only what the program must not have done."""
    try:
        result = trial(*arguments)
    except Fault as fault:
        print(f"cluster: {fault}")
        return []
    return [f"{message} was delivered and is missing" for message in result.delivered_and_missing()]


def trials(program, form, folder):
    """Runs all trials, and returns what must not have happened."""
    messages, rate = SIZES[form]
    with network() as place:
        print(f"cluster: nodes {'in networks that can be cut off' if place.can_be_cut else 'on loopback'}", flush=True)
        complaints = trial(program, os.path.join(folder, "faults"), place, kinds(form), messages, rate).comparison.complaints()
        if form == "long" and place.can_be_cut:
            # See docs/broker-clusters.md.
            complaints += report(program, os.path.join(folder, "cut"), place, [CUT_NODE] * CUTS, 0, rate)
            complaints += report(program, os.path.join(folder, "division"), place, [DIVIDED_NODE] * CUTS, 0, rate)
    return complaints + bridges.main(program, folder, form)


def main(program, form):
    folder = tempfile.mkdtemp(prefix="signalbox-cluster-")
    try:
        complaints = trials(program, form, folder)
    except Fault as fault:
        complaints = [fault]
    except BaseException:
        shutil.rmtree(folder)
        raise
    if complaints:
        raise SystemExit("\n".join(f"cluster: {each}" for each in [*complaints, f"logs and ledgers are in {folder}"]))
    shutil.rmtree(folder)


if __name__ == "__main__":
    exit_on_signals()
    main(*sys.argv[1:])
