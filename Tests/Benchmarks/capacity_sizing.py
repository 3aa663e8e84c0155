"""The arithmetic of docs/capacity.md: what a program needs for a number of sources, plugins, connections and messages."""
import collections
import statistics

# KiB of resident memory, threads and descriptors.
Cost = collections.namedtuple("Cost", "memory threads descriptors")
# The numbers of the worked example. `messages` are those a second.
Need = collections.namedtuple("Need", "sources plugins connections messages")

EXAMPLE = Need(sources=50, plugins=20, connections=2_000, messages=5_000)


def middle(costs):
    """Returns the median of each number."""
    return Cost(*map(statistics.median, zip(*costs)))


def each(fewer, more, count):
    """Returns the cost of one of `count` by which a program has more than another. Noise may not make it negative."""
    return Cost(*(max(0, above - below) / count for below, above in zip(fewer, more)))


def base(whole, *parts):
    """Returns the cost of a program without these parts."""
    return Cost(*(total - sum(values) for total, *values in zip(whole, *parts)))


def costs(idle, added, sizes):
    """Returns the costs of the program, an MQTT source, a plugin and a backlog, from those of the program with 1 to 100 of both.

    `idle` are costs, and `added` the KiB of a backlog, by the numbers of sources and plugins.
    """
    few, many = sizes[0], sizes[-1]
    source = each(idle[few, few], idle[many, few], many - few)
    # A plugin that more sources may call has more rules.
    plugins = [each(idle[size, few], idle[size, many], many - few) for size in sizes]
    backlog = max(0, added[many, few] - added[few, few]) / (many - few)
    return {
        "program": base(idle[few, few], source),
        "source": source,
        "plugin": Cost(max(plugin.memory for plugin in plugins), 0, 0),
        "backlog": Cost(backlog, 0, 0),
    }


def needed(costs, need):
    """Returns the terms of the arithmetic, each a name, a number and the cost of one. `costs` are by name."""
    return [
        ("the program", 1, costs["program"]),
        ("MQTT sources", need.sources, costs["source"]),
        ("plugins", need.plugins, costs["plugin"]),
        ("chats with a port", 1, costs["chat"]),
        ("WebSocket connections", need.connections, costs["connection"]),
    ]


def together(terms):
    return Cost(*(sum(number * cost[index] for _, number, cost in terms) for index in range(3)))


def processors(messages, microseconds):
    """Returns how many processors these messages a second occupy."""
    return messages * microseconds / 1e6


def kib(value):
    return f"{value:,.{0 if value >= 100 else 1}f}"


def mib(value):
    return f"{value / 1024:,.1f}"


def times(measured, computed):
    return f"{measured / computed:.2f}" if computed else ""


def example_rows(terms, measured):
    """Returns the lines of the worked example. `measured` is the cost of the program that was run."""
    lines = [["part", "number", "KiB each", "MiB", "threads", "descriptors"]]
    for name, number, cost in terms:
        lines.append([name, f"{number:,}", kib(cost.memory), mib(number * cost.memory), *whole(number, cost)])
    computed = together(terms)
    lines.append(["together, computed", "", "", mib(computed.memory), *whole(1, computed)])
    lines.append(["together, measured", "", "", mib(measured.memory), *whole(1, measured)])
    lines.append(["measured / computed", "", "", *(times(one, other) for one, other in zip(measured, computed))])
    return lines


def whole(number, cost):
    return [f"{number * cost.threads:,.0f}", f"{number * cost.descriptors:,.0f}"]


def load_rows(need, costs, microseconds, measured, most):
    """Returns the lines of the example under load. `measured` are messages a second and microseconds each, `most` is in KiB."""
    rate, used = measured
    computed = together(needed(costs, need)).memory + need.sources * costs["backlog"].memory
    lines = [["what", "computed", "measured", "measured / computed"]]
    lines.append([f"us a message, at {rate:,.0f} messages a second", f"{microseconds:.1f}", f"{used:.1f}", times(used, microseconds)])
    busy = [processors(need.messages, value) for value in (microseconds, used)]
    name = f"processors for {need.messages:,} messages a second"
    lines.append([name, *(f"{value:.2f}" for value in busy), times(busy[1], busy[0])])
    name = f"MiB, with a backlog of {kib(costs['backlog'].memory)} KiB at every source"
    lines.append([name, mib(computed), mib(most), times(most, computed)])
    return lines
