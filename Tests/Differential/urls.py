"""Compares `signalbox parse` with ada-url, a URL parser by the WHATWG rules that browsers and Node use.

    urls.py SIGNALBOX [SEED [COUNT]]

Generates hostile URLs and relative references, the same for the same seed, as input of `signalbox parse --stdin`. For each
accepted URL ada must return the same normal form, host, port, path, query, fragment and origin. Refused URLs are counted by
reason, because Signalbox is stricter on purpose. Exits with status 1 if one differs, or if too few are accepted for a
meaningful comparison.
"""

import collections
import json
import random
import subprocess
import sys
from urllib.parse import unquote_to_bytes

from ada_url import URL, URLSearchParams

# Measured: 0.40, and 0.49 for references. A smaller share means that the generator or the parser has changed.
SMALLEST_SHARE = 0.35
SHOWN = 20

SCHEMES = """http https ws wss ftp file myapp javascript data mailto about blob x HtTp MyApp intent non-special a1+-.""".split()
HOSTS = """example.com EXAMPLE.com a a.b.c 127.0.0.1 127.1 0x7f.1 1.2.3.4 256.1.1.1 01.2.3.4 0 4294967296 a.0x1 1.a foo.0x
    foo.09 [::1] [1:2:0:0:5:0:0:0] [::1.2.3.4] [1::2::3] [fe80::1%25eth0] [::ffff:1.2.3.256] [:] [1:2:3:4:5:6:7:8:9]
    [1:2:3:4:5:6:7::] [::2:3:4:5:6:7:8] [A:b::] xn--mnchen-3ya.de XN--MNCHEN-3YA.DE xn--fa-hia.example xn-- xn--a
    xn--zn7c.com xn--ls8h.la xn--4gbrim.xn--mgbaam7a8h xn--pokxncvks xn--1ca.xn--1ch a..b .a a. a_b -a bücher.de
    ex%61mple.com good.example@evil.example product Product localhost a:80 !$& a!b a|b a<b ．com a。b""".split() + ["", "a b"]
SEGMENTS = """a b .. . %2e %2E%2e .%2e %2F %252e %00 %41 %zz %e2%82%ac %ff ü " < {x} ^ ` | \\ C: C| c%3A ;x=1 @ : a:b ... ~ '
    % %0a € 😀 %C3%BC %7F""".split() + ["", "a b"]
PLAIN_HOSTS = "example.com EXAMPLE.com a.b.c 127.0.0.1 [::1] [A:b::] localhost Product xn--mnchen-3ya.de".split()
PLAIN_SEGMENTS = "a b .. . %2F %41 %C3%BC ü ;x=1 @ ~ ' {x}".split() + ["", "a b"]
QUERIES = [""] * 3 + ["?", "?q=1", "?a=b&c=d'\"<>`{}^|\\", "?ü", "?%zz", "? x", "?a+b=%2B&&=&c", "?%C3%BC=%ff", "?q=%00"]
FRAGMENTS = [""] * 3 + ["#", "#f", "#ü\"<>` {}", "#a#b"]
SEPARATORS = ["://"] * 20 + [":", ":/", ":///", "://\\", ":\\\\", "", ":////"]
PORTS = [""] * 12 + [":80", ":443", ":21", ":0", ":65535", ":65536", ":", ":08080", ":8a", ":-1"]
INSERTED = "\t \\/?#@:%[]a.0-\0\x7f\u00ad\u3002\u200d"

BASES = ["https://shop.example/a/b?c#d", "myapp://shop/a/b", "myapp:/a/b", "file:///a/b", "https://[::1]:81"]

# The code point ranges of the scripts whose names are tried in Punycode.
SCRIPTS = [
    (0xA0, 0x24F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0x11FF), (0x1E00, 0x2FFF), (0x3000, 0x9FFF),
    (0xAC00, 0xD7A3), (0xF900, 0xFFFF), (0x10000, 0x1FFFF),
]


def choice(source, odd, plain):
    """Chooses a part so that most URLs have one or two odd parts. With more they are all refused, for the first one."""
    return source.choice(odd if source.random() < 0.4 else plain)


def path(source):
    pieces = []
    for _ in range(source.randint(0, 5)):
        second = source.choice(SEGMENTS) if source.random() < 0.1 else ""
        pieces.append("/" + choice(source, SEGMENTS, PLAIN_SEGMENTS) + second)
    return "".join(pieces)


def mixed(source):
    """Returns a URL of odd parts, sometimes with misplaced characters inserted."""
    host = choice(source, HOSTS, PLAIN_HOSTS)
    if source.random() < 0.05:
        host = "u" + source.choice([":p", ""]) + "@" + host
    parts = [source.choice(SCHEMES), source.choice(SEPARATORS), host, source.choice(PORTS), path(source)]
    text = list("".join(parts) + source.choice(QUERIES) + source.choice(FRAGMENTS))
    if source.random() < 0.15:
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(text) + 1)
            # Replaces a character, or inserts between two.
            text[place : place + source.randint(0, 1)] = source.choice(INSERTED)
    return "".join(text)


def international(source):
    """Returns a URL whose host is, or resembles, the ASCII form of an international name."""
    if source.random() < 0.4:
        letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
        label = "".join(source.choice(letters) for _ in range(source.randint(1, 12)))
        return "https://xn--" + label + source.choice([".com", "", ".xn--p1ai"]) + "/"
    low, high = source.choice(SCRIPTS)
    one = lambda: chr(source.randint(low, high)) if source.random() < 0.7 else source.choice("ab1-")
    label = "".join(one() for _ in range(source.randint(1, 4)))
    return "https://xn--" + label.encode("punycode").decode("ascii") + ".com/"


def reference(source):
    """Returns a relative reference, as a page's links have: without the scheme or the host."""
    start = source.choice(["", "/", "//", "?", "#", "..", "./", "///", "/\\", "a:", "https:", "\\"])
    rest = path(source).removeprefix("/") if source.random() < 0.8 else ""
    return start + rest + source.choice(QUERIES) + source.choice(FRAGMENTS)


def lines(made):
    """Returns the URLs that fit in one line: a line feed would end it, and a final carriage return is part of the line end."""
    return [url for url in made if "\n" not in url and not url.endswith("\r")]


def ours(signalbox, made, base):
    """Returns the output of `signalbox parse`: one object for each URL, in order."""
    options = ["--base", base] if base else []
    text = "".join(url + "\n" for url in made).encode("utf-8", "strict")
    run = subprocess.run([signalbox, "parse", "--stdin", *options], input=text, stdout=subprocess.PIPE, check=False)
    found = [json.loads(line) for line in run.stdout.decode("utf-8").splitlines()]
    if run.returncode != 1 or len(found) != len(made):
        sys.exit(f"signalbox parse ended with status {run.returncode} after {len(found)} of {len(made)} lines")
    return found


def difference(url, base, found):
    """Returns the first part that differs: its name, ada's reading, ours."""
    try:
        ada = URL(url, base) if base else URL(url)
    except ValueError:
        return ("whether it is a URL", "no", "yes")
    pairs = [
        ("href", ada.href, found["url"]),
        ("scheme", ada.protocol[:-1], found["scheme"]),
        ("host", ada.hostname, found.get("host", "")),
        ("port", ada.port, str(found.get("port", ""))),
        ("path", ada.pathname, found["path"]),
        ("fragment", ada.hash[1:], found.get("fragment", "")),
        ("origin", ada.origin, found.get("origin", "null")),
        ("segments", segments(ada.pathname), found["segments"]),
    ]
    if found.get("unreadableItems"):
        # A browser reads such an item as it stands, which ada's Python module cannot show, and we leave it out.
        theirs = len([item for item in ada.search[1:].split("&") if item])
        pairs.append(("number of items", theirs, len(found["query"]) + found["unreadableItems"]))
    elif "query" in found:
        pairs.append(("query", list(URLSearchParams(ada.search).items()), [(i["name"], i["value"]) for i in found["query"]]))
    elif "error" not in found:
        pairs.append(("query", ada.search, ""))
    return next(((name, theirs, mine) for name, theirs, mine in pairs if theirs != mine), None)


def segments(pathname):
    if not pathname:
        return []
    pieces = pathname.split("/")
    return [unquote_to_bytes(piece).decode() for piece in (pieces[1:] if pathname[0] == "/" else pieces)]


def compare(signalbox, title, made, base=None):
    """Prints the results, and returns whether the comparison passed."""
    refused, unreadable, differing = collections.Counter(), collections.Counter(), 0
    for url, found in zip(made, ours(signalbox, made, base)):
        if "url" not in found:
            if found["input"] != url:
                sys.exit(f"the line {url!r} was repeated as {found['input']!r}")
            refused[found["error"]["reason"]] += 1
            continue
        if "error" in found:
            unreadable[found["error"]["reason"]] += 1
        elif "unreadableItems" in found:
            unreadable["unreadable item"] += 1
        if differs := difference(url, base, found):
            differing += 1
            if differing <= SHOWN:
                name, theirs, mine = differs
                print(f"{url!r}: {name}: ada has {theirs!r}, signalbox {mine!r}")
    accepted = len(made) - sum(refused.values())
    print(f"{title}: {len(made)}, {accepted} accepted, {differing} of these read differently by ada")
    for what, counts in [("refused", refused), ("accepted, and the query refused or read in part", unreadable)]:
        reasons = ", ".join(f"{reason} {number}" for reason, number in counts.most_common())
        print(f"  {what}: {sum(counts.values())} ({reasons})")
    if accepted < SMALLEST_SHARE * len(made):
        print(f"  fewer than {SMALLEST_SHARE:.0%} were accepted: too few to compare")
    return differing == 0 and accepted >= SMALLEST_SHARE * len(made)


def main(signalbox, seed=1, count=40_000):
    source = random.Random(seed)
    made = [mixed(source) for _ in range(count)] + [international(source) for _ in range(count // 4)]
    well = [compare(signalbox, f"seed {seed}: URLs", lines(made))]
    for base in BASES:
        references = lines([reference(source) for _ in range(count // 20)])
        well.append(compare(signalbox, f"references to {base}", references, base))
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:4])))
