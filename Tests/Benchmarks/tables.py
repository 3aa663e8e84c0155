"""The tables of the benchmarks, from the output of a program into the pages of docs.

A program prints each table as Markdown between two lines with its name, see `shown`. A page has the same two lines where the table
belongs, and a test checks that each table has one place. What is between them is replaced; the prose around is written by hand.
"""
import re
import statistics

MARKED = re.compile(r"^<!-- table (\S+) -->\n(.*?)^<!-- end of table \1 -->$", re.MULTILINE | re.DOTALL)
BEGIN = re.compile(r"^<!-- table (\S+) -->$", re.MULTILINE)


class Misplaced(Exception):
    """A table without exactly one place in the pages, or markers that do not match."""


def shown(name, *rows):
    """Returns the rows as Markdown between the markers of the table `name`. The first row has the names of the columns."""
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return marked(name, "\n".join(lines) + "\n")


def marked(name, content):
    return f"<!-- table {name} -->\n{content}<!-- end of table {name} -->"


def found(text):
    """Returns the content between the markers in a text, by the table's name."""
    tables = {}
    for match in MARKED.finditer(text):
        name, content = match.groups()
        if name in tables:
            raise Misplaced(f"the table {name} is there twice")
        tables[name] = content
    if unfinished := set(BEGIN.findall(text)) - set(tables):
        raise Misplaced(f"no end of the table {', '.join(sorted(unfinished))}")
    return tables


def placed(pages, tables, line):
    """Returns the pages that change, with the tables in their places and `line` below each.

    `pages` and the result are texts by path. `tables` are contents by name. One without content is the place of the line for all.
    """
    has_place = "" in tables.values()
    places = {}
    for path, text in pages.items():
        for name in found(text):
            places.setdefault(name, []).append(path)
    changed = {}
    for name, content in tables.items():
        if len(places.get(name, [])) != 1:
            raise Misplaced(f"the table {name} needs one place in the pages, not {len(places.get(name, []))}")
        path = places[name][0]
        # Blank lines, because some readers of Markdown take a table right after a comment for text.
        below = f"{line}\n\n" if not content or not has_place else ""
        new = marked(name, f"\n{content}\n{below}" if content else f"\n{below}")
        changed[path] = replaced(changed.get(path, pages[path]), name, new)
    return changed


def replaced(text, name, new):
    return MARKED.sub(lambda match: new if match.group(1) == name else match.group(0), text)


# Cells


def median(values, digits=0):
    return f"{statistics.median(values):,.{digits}f}"


def ratio(ours, others):
    """Returns the median of the rounds' ratios, with fewer decimals the larger it is."""
    value = statistics.median(one / other for one, other in zip(ours, others))
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def verdict(is_met, bar):
    return f"{bar:,}: {'met' if is_met else 'missed'}"
