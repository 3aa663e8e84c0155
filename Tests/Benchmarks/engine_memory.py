"""The memory of a page's processes."""
import os


def children(process):
    """Returns all descendants of a process."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            continue
    found, left = [], [process]
    while left:
        below = parents.get(left.pop(), [])
        found += below
        left += below
    return found


class Share:
    """A process's memory, in MB: its PSS, and the part of it that is not backed by files such as libraries."""

    def __init__(self, process=None):
        self.all = self.own = 0
        if process is None:
            return
        # The resident memory if this user may not read the PSS; nothing if the process has exited.
        for name, fields in (("smaps_rollup", ("Pss:", "Pss_Anon:")), ("status", ("VmRSS:", "RssAnon:"))):
            try:
                with open(f"/proc/{process}/{name}") as file:
                    lines = [line.split() for line in file]
            except OSError:
                continue
            sizes = {words[0]: int(words[1]) for words in lines if words[-1] == "kB"}
            self.all, self.own = [sizes.get(field, 0) * 1.024 / 1000 for field in fields]
            return

    def add(self, other):
        self.all += other.all
        self.own += other.own


def is_page(process):
    try:
        with open(f"/proc/{process}/cmdline") as file:
            line = file.read()
    except OSError:
        return False
    return "WebKitWebProcess" in line or "--type=renderer" in line


def memory(host, browser):
    """Returns the memory of the program, of the page's process, and of the engine's other processes."""
    shares = {"program": Share(host), "page": Share(), "others": Share()}
    helpers = children(host) + ([browser, *children(browser)] if browser else [])
    for helper in helpers:
        shares["page" if is_page(helper) else "others"].add(Share(helper))
    return shares
