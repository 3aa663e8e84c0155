"""The share of the processors that other processes use while something is measured.

Sums the times in /proc/PID/stat, including those of children that have ended, so that a compiler which lives for a second counts
too. The processor times in /proc/stat would also count what other systems of containers do, but the kernel attributes the time of
interrupts there in another way than to processes, and our own traffic on loopback causes many.
"""
import collections
import ctypes
import os
import sys
import time

# Of all processors together.
LIMIT = 0.05
WINDOW = 2
PATIENCE = 60
PR_SET_CHILD_SUBREAPER = 36

# `own` and `ended` are seconds of processor time, of the process itself and of its children that have ended.
Process = collections.namedtuple("Process", "parent name own ended")
# `at` is the time of the snapshot, and `stolen` the seconds that a hypervisor gave to other machines.
Snapshot = collections.namedtuple("Snapshot", "at stolen processes")


class Busy(Exception):
    """Others use more than the limit."""


def is_possible():
    return sys.platform == "linux" and os.path.exists("/proc/self/stat")


def snapshot():
    processes = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                processes[int(name)] = parsed(file.read())
        except OSError:
            continue  # It has ended.
    with open("/proc/stat") as file:
        return Snapshot(time.monotonic(), stolen_seconds(file.readline()), processes)


def parsed(stat, ticks=os.sysconf("SC_CLK_TCK")):
    """Returns the process of a line of /proc/PID/stat (proc(5)). Its name may contain spaces and parentheses."""
    before, fields = stat.rsplit(")", 1)
    fields = fields.split()
    own, ended = [sum(map(int, fields[first : first + 2])) / ticks for first in (11, 13)]
    return Process(int(fields[1]), before.split("(", 1)[1], own, ended)


def stolen_seconds(line, ticks=os.sysconf("SC_CLK_TCK")):
    """Returns the stolen time in the first line of /proc/stat."""
    fields = line.split()
    return int(fields[8]) / ticks if len(fields) > 8 else 0


def family(processes, root):
    """Returns the ids of a process and all its descendants."""
    children = collections.defaultdict(list)
    for process, facts in processes.items():
        children[facts.parent].append(process)
    found, left = {root}, [root]
    while left:
        below = children[left.pop()]
        found.update(below)
        left += below
    return found


def seconds_of_others(taken, root):
    own = family(taken.processes, root)
    return taken.stolen + sum(facts.own + facts.ended for id, facts in taken.processes.items() if id not in own)


def share_of_others(before, after, root, processors):
    """Returns the share, between two snapshots, of everything but the process `root` and its descendants."""
    used = seconds_of_others(after, root) - seconds_of_others(before, root)
    return max(0, used) / ((after.at - before.at) * processors)


def busiest(before, after, root, count=3):
    """Returns the names and shares of the other processes that used most; a share of 100 % is one processor."""
    used, own = [], family(after.processes, root)
    for id, facts in after.processes.items():
        if id not in own:
            earlier = before.processes.get(id)
            used.append(((facts.own - (earlier.own if earlier else 0)) / (after.at - before.at), id, facts.name))
    used = sorted((one for one in used if one[0] >= 0.01), reverse=True)[:count]
    return ", ".join(f"{name} ({id}) {share:.0%}" for share, id, name in used) or "processes that have ended"


def wait(root, processors, take=snapshot, sleep=time.sleep, say=lambda text: None):
    """Waits until others use at most the limit. Raises `Busy` when that takes too long."""
    for attempt in range(PATIENCE // WINDOW):
        before = take()
        sleep(WINDOW)
        after = take()
        share = share_of_others(before, after, root, processors)
        if share <= LIMIT:
            return
        if attempt == 0:
            say(f"waiting: other processes use {share:.0%} of the processors: {busiest(before, after, root)}")
    raise Busy(complaint(share, busiest(before, after, root)))


def complaint(share, names):
    return (
        f"other processes use {share:.0%} of the processors, more than {LIMIT:.0%}: {names}. Stop them and try again, or measure all"
        " the same with --busy, which the tables then say."
    )


def adopt_orphans():
    """Makes processes whose parent ends children of this one, so that their times count as its own."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
