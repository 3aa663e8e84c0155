#!/usr/bin/env python3
"""Counts the instructions that an action costs from its bytes to its outcome, and compares them with the recorded numbers.

Usage: instructions.py PROGRAM [--record]

PROGRAM is DispatchBenchmark. valgrind's tool callgrind counts the instructions of two runs that differ in the number of messages;
the difference belongs to the messages. Unlike a time, it does not depend on the machine's load. It does depend on the compiler
and the processor's architecture, so numbers that were recorded with others are not compared. Exits with status 1 if a row takes
2 % more than recorded. With --record, writes the numbers of this machine.
"""
import json, os, platform, re, statistics, subprocess, sys, tempfile

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")
# Name of the row of DispatchBenchmark and its batch.
ROWS = [
    ("Codable, sync handler", 256),
    ("Codable, async handler", 256),
    ("read by hand, sync handler", 256),
    ("Codable, inline", 1),
    ("read by hand, inline", 1),
    ("metrics", 256),
    ("deduplication, no duplicates", 256),
]
BAR = 0.02
# Whole batches. The first run warms up what later messages reuse, such as the table of deduplication.
FEWER, MORE = 256 * 50, 256 * 90


def toolchain():
    version = subprocess.run(["swiftc", "--version"], capture_output=True, text=True).stdout
    found = re.search(r"Swift version (\S+)", version)
    return f"Swift {found.group(1) if found else 'unknown'}, {platform.machine()}, {' '.join(platform.libc_ver())}"


def instructions(program, row, batch, messages, folder):
    profile = os.path.join(folder, "profile")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--fair-sched=yes", program]
    done = subprocess.run(
        command + ["--dispatch", row, str(batch), str(messages)], capture_output=True, text=True, timeout=600
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        raise RuntimeError(f"callgrind failed for {row}:\n{done.stdout}{done.stderr}")
    return int(collected.group(1))


def per_action(program, row, batch, folder):
    """The median of three measurements, because the threads take turns differently each time."""
    measured = []
    for _ in range(3):
        fewer, more = (instructions(program, row, batch, messages, folder) for messages in (FEWER, MORE))
        measured.append(round((more - fewer) / (MORE - FEWER)))
    return statistics.median(measured)


def main(program, records):
    recorded = {} if records or not os.path.exists(RECORDED) else json.load(open(RECORDED))
    comparable = recorded.get("toolchain") == toolchain()
    if recorded and not comparable:
        print(f"not compared: recorded with {recorded['toolchain']}, this is {toolchain()}")
    measured, failed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, os.path.basename(program))
        # valgrind 3.19 cannot read the debug information of Swift 6.3.
        subprocess.run(["objcopy", "--strip-debug", program, stripped], check=True)
        for row, batch in ROWS:
            name = f"{row}, batch {batch}"
            measured[name] = per_action(stripped, row, batch, folder)
            before = recorded.get("instructions", {}).get(name)
            change = f"{measured[name] / before - 1:+.1%}" if before else "new"
            is_good = not (comparable and before) or measured[name] <= before * (1 + BAR)
            failed = failed or not is_good
            print(f"{'ok  ' if is_good else 'MISS'} {name}: {measured[name]} instructions an action ({change})", flush=True)
    if records:
        with open(RECORDED, "w") as file:
            json.dump({"toolchain": toolchain(), "instructions": measured}, file, indent=2)
            file.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--record"]):
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    sys.exit(main(arguments[0], bool(arguments[1:])))
