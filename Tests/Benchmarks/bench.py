"""Measures parts of the benchmarks on a quiet machine, and prints their tables or writes them into the pages of docs.

usage: bench.py [--write] [--busy] [--rounds N | --quick] [--programs FOLDER] [--python INTERPRETER] [PART...]
       bench.py --products [PART...]     prints the products that the parts need

Exits with status 75 if other processes disturb a measurement, whose tables are then neither printed nor written; --busy measures,
prints and writes all the same. --quick is one round: a functional check rather than a measurement.
"""
import argparse
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import time

import facts
import parts
import quiet
import tables

DOCS = os.path.join(parts.HERE, "../../docs")
DISTURBED = 75
USAGE = 64


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Measurement:
    """What a part printed, and what happened on the machine meanwhile."""

    def __init__(self, name, options):
        self.part = parts.PARTS[name]
        self.options = options
        self.rounds = options.rounds or self.part.rounds
        place = parts.Place(options.programs, options.python, self.rounds, options.quick)
        self.checks = quiet.is_possible()
        self.loads = [os.getloadavg()[0]]
        self.before = quiet.snapshot() if self.checks else None
        began = time.monotonic()
        self.output = output(self.part.command(place))
        self.seconds = time.monotonic() - began
        self.after = quiet.snapshot() if self.checks else None
        self.loads.append(os.getloadavg()[0])
        quiet.reap_orphans()

    def share(self):
        """The share of other processes; None if it is unknown."""
        return quiet.share_of_others(self.before, self.after, os.getpid(), os.cpu_count()) if self.checks else None

    def complaint(self):
        """Why the tables do not count; None if they do."""
        share = self.share()
        if share is None or share <= quiet.LIMIT or self.options.busy:
            return None
        return quiet.complaint(share, quiet.busiest(self.before, self.after, os.getpid()))

    def line(self):
        return facts.line(self.rounds, self.loads, self.part.peers, self.share(), self.options.busy)


def output(command):
    """Returns what a command prints. Its errors go where ours go."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            text = process.communicate()[0]
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        sys.stdout.write(text)
        raise SystemExit(f"bench: {command[0]} ended with status {process.returncode}")
    return text


def write(measurement):
    """Writes the tables into the pages, unless rows are missing because something is not installed."""
    if missing := re.findall(r"^skipped: .*", measurement.output, re.MULTILINE):
        say(f"not written, because rows are missing: {'; '.join(missing)}")
        return
    paths = [path for pattern in ("benchmarks.md", "benchmarks/*.md", "capacity.md") for path in sorted(glob.glob(f"{DOCS}/{pattern}"))]
    pages = {}
    for path in paths:
        with open(path) as file:
            pages[path] = file.read()
    for path, text in tables.placed(pages, tables.found(measurement.output), measurement.line()).items():
        with open(path, "w") as file:
            file.write(text)
        say(f"wrote docs/{os.path.relpath(path, DOCS)}")


def measure(name, options):
    """Measures one part. Returns its seconds, or None if it was disturbed."""
    if quiet.is_possible() and not options.busy:
        quiet.wait(os.getpid(), os.cpu_count(), say=say)
    say(f"{name}: measuring")
    measurement = Measurement(name, options)
    if complaint := measurement.complaint():
        say(f"{name}: the tables are neither shown nor written: {complaint}")
        return None
    print(f"{measurement.output.strip()}\n\n{measurement.line()}\n", flush=True)
    if options.write:
        write(measurement)
    say(f"{name}: {measurement.seconds:.0f} s")
    return measurement.seconds


def parsed(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    for flag in ("write", "busy", "quick", "products"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--programs", default="")
    parser.add_argument("--python", default="")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds = 1
        if options.write:
            say("--quick is no measurement, so it writes nothing")
            sys.exit(USAGE)
    try:
        options.parts = parts.named(options.parts)
    except KeyError as unknown:
        say(f"there is no part {unknown}; parts are {', '.join([*parts.PARTS, *parts.GROUPS])}")
        sys.exit(USAGE)
    return options


def main():
    options = parsed(sys.argv[1:])
    if options.products:
        print(*dict.fromkeys(product for name in options.parts for product in parts.PARTS[name].products))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # A server and a crowd of 10,000 connections have that many sockets each.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if quiet.is_possible():
        quiet.adopt_orphans()
    else:
        say("without /proc, it is not checked that the machine is quiet")
    seconds = {}
    try:
        for name in options.parts:
            seconds[name] = measure(name, options)
    except quiet.Busy as busy:
        say(f"{name}: not measured: {busy}")
        return DISTURBED
    for name, taken in seconds.items():
        say(f"{name:<20} {'disturbed' if taken is None else f'{taken:.0f} s'}")
    say(f"together {sum(taken or 0 for taken in seconds.values()):.0f} s of measuring")
    return DISTURBED if None in seconds.values() else 0


if __name__ == "__main__":
    sys.exit(main())
