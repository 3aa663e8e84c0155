"""The arguments of capacity_rows.py, and what its parts share."""
import os
import sys

import capacity_configurations as configurations
from capacity_program import Program
from capacity_sizing import Cost

PROGRAMS = sys.argv[1]
IS_QUICK = sys.argv[2] == "--quick"
ROUNDS = 1 if IS_QUICK else int(sys.argv[2])
BUILT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.build-package/signalbox")
PROGRAM = os.path.abspath(os.environ.get("CAPACITY_PROGRAM") or BUILT)
SIZES = (1, 10, 100)
# Messages of each source in a row of so many sources: enough for a second of load.
BACKLOG = {1: 100_000, 10: 20_000, 100: 3_000}
IDLE_SECONDS = 2
# Messages of all connections of a chat together.
FLOOD = 300_000
CONNECTIONS = (1, 100, 1_000, 3_000)


def messages(count):
    return max(1, count // 10) if IS_QUICK else count


def client(name):
    return os.path.join(PROGRAMS, name)


def running(folder, sources, plugins, **more):
    return Program(PROGRAM, folder, configurations.configuration(sources, plugins, **more))


def many(source, count):
    return [source(number) for number in range(count)]


def cost(program):
    sample = program.sample()
    return Cost(sample.resident / 1024, program.system("Threads"), sample.descriptors)
