"""Lets the cases of the Autobahn test suite, as kosoku runs them, speak to the installed command.

    conformance.py SIGNALBOX [serve|connect] [CASE...]

`serve` is a server whose clients the cases are; `connect` is a client, once for each case, and the cases are the server.
Both echo through a plugin behind the supervisor, and compress. Without CASE these are the sections of SECTIONS, and no case
of them is left out: one that is known to fail stands in KNOWN with the reason, and passes when it no longer does. Another
case that fails is run once more, alone, as cases have deadlines that pass on a busy machine. Ends with status 1 when it fails
again, when a program ends otherwise than it should, or when there were not as many cases as there should have been.
"""

import asyncio
import collections
import pathlib
import re
import sys
import time

import kosoku

HERE = pathlib.Path(__file__).resolve().parent
# The limits of messages (9.3 to 9.8) and the other parameters of compression (12.2 on, 13.2 on) take a quarter of an hour
# and go the same ways through our code.
SECTIONS = {
    "1.*": 16, "2.*": 11, "3.*": 7, "4.*": 10, "5.*": 20, "6.*": 145, "7.*": 37,
    "9.1.*": 6, "9.2.*": 6, "10.*": 1, "12.1.*": 18, "13.1.*": 18,
}
PINGS = "libwebsockets 4.1.6 keeps one pong to be sent and passes over pings meanwhile, which RFC 6455, 5.5.3, allows"
KNOWN = {"2.10": PINGS, "2.11": PINGS}
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}
AGENT = "signalbox"
# Several cases at once, as some only wait; each client is a process.
SERVED_AT_ONCE = 4
CLIENTS_AT_ONCE = 3
# Done, or done with dead letters: some cases close without waiting for their echo, which the server then cannot send.
SERVE_STATUSES = {0, 83}
# In seconds: what hangs is a failure.
PROGRAM_LIMIT = 120
# Cases of compression give themselves up to 480.
CLIENT_LIMIT = 500
# With what is run once more.
ROLE_LIMIT = 690


class Fault(Exception):
    """What went wrong besides the cases."""


async def listening(process):
    """The port, from the line that says it; what else is written to standard error is shown when there is no such line."""
    lines = []
    while line := await process.stderr.readline():
        lines.append(line.decode(errors="replace").rstrip())
        if found := re.search(r"listening on ws://127\.0\.0\.1:(\d+)/", lines[-1]):
            return int(found[1])
    raise Fault("serve ended before it listened:\n" + "\n".join(lines[-20:]))


async def drained(stream, kept):
    """Reads on, so that the program never waits for its reader."""
    while line := await stream.readline():
        kept.append(line.decode(errors="replace").rstrip())


async def ended(process, within):
    """The exit status; kills by its id what does not end."""
    try:
        return await asyncio.wait_for(process.wait(), within)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        return None


async def results(awaitable):
    try:
        return await awaitable
    except kosoku.FailureError as failure:
        return failure.results


async def serve(program, cases, at_once):
    process = await asyncio.create_subprocess_exec(
        program, "serve", "--config", str(HERE / "serve.yaml"),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )
    lines, reading = [], None
    try:
        port = await asyncio.wait_for(listening(process), PROGRAM_LIMIT)
        reading = asyncio.create_task(drained(process.stderr, lines))
        found = await results(
            kosoku.run_fuzzingclient(f"ws://127.0.0.1:{port}/", cases, concurrency=at_once)
        )
        if process.returncode is not None:
            raise Fault(f"serve ended with status {process.returncode}:\n" + "\n".join(lines[-20:]))
        process.terminate()
        status = await ended(process, PROGRAM_LIMIT)
        if status not in SERVE_STATUSES:
            raise Fault(f"serve ended with status {status} after SIGTERM:\n" + "\n".join(lines[-20:]))
        return found
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if reading:
            await reading


async def connected(program, url):
    """Runs a client to the end of its connection."""
    process = await asyncio.create_subprocess_exec(
        program, "connect", url, "--config", str(HERE / "connect.yaml"),
        # A pipe that nobody writes to and that stays open: the end of its input would be the client's end.
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )
    lines = []
    reading = asyncio.create_task(drained(process.stderr, lines))
    try:
        status = await ended(process, CLIENT_LIMIT)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    await reading
    # How the connection ended is the case's affair; a signal, or no end at all, is a fault of the program.
    if status is None or status < 0:
        raise Fault(f"connect {url} ended with {status}:\n" + "\n".join(lines))


async def case_count(port):
    """How many cases the server has; it says so in the first frame, whose length is in its second byte."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /getCaseCount HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    _, length = await reader.readexactly(2)
    count = int(await reader.readexactly(length))
    writer.close()
    return count


async def connect(program, cases, at_once):
    async with kosoku.run_fuzzingserver(cases, host="127.0.0.1", port=0) as server:
        base = f"ws://127.0.0.1:{server.port}"
        left = collections.deque(range(1, await case_count(server.port) + 1))

        async def work():
            while left:
                await connected(program, f"{base}/runCase?case={left.popleft()}&agent={AGENT}")

        await asyncio.gather(*(work() for _ in range(at_once)))
        await connected(program, f"{base}/updateReports?agent={AGENT}")
        return await results(server.get_result())


def judged(role, found, expected):
    """Prints what the cases came to; those that should have passed and did not."""
    counts = collections.Counter(case.behavior.value for case in found if case.case_id not in KNOWN)
    closes = collections.Counter(case.behavior_close.value for case in found if case.case_id not in KNOWN)
    print(f"{role}: {len(found)} cases: " + ", ".join(f"{counts[word]} {word}" for word in sorted(counts)))
    print(f"{role}: how they closed: " + ", ".join(f"{closes[word]} {word}" for word in sorted(closes)))
    bad = []
    for case in found:
        id, word = case.case_id, case.behavior.value
        if id in KNOWN:
            print(f"{role}: {id} {word}: {'known: ' + KNOWN[id] if word not in GOOD else 'no longer fails'}")
        elif word not in GOOD:
            bad.append(id)
            print(f"{role}: FAILED {id} {word}: {case.description.strip()}\n    expected {case.expectation.strip()}\n"
                  f"    {case.result}; {case.result_close}", file=sys.stderr)
    if expected is not None and len(found) != expected:
        raise Fault(f"{role}: {expected} cases expected, {len(found)} found")
    return bad


async def failed_twice(role, program, cases):
    """The number of cases that should have passed, and did not alone either."""
    run, at_once = ROLES[role]
    expected = None if cases else sum(SECTIONS.values())
    bad = judged(role, await run(program, cases or list(SECTIONS), at_once), expected)
    if not bad:
        return 0
    print(f"{role}: once more, one at a time: " + ", ".join(bad), file=sys.stderr)
    return len(judged(role, await run(program, bad, 1), len(bad)))


ROLES = {"serve": (serve, SERVED_AT_ONCE), "connect": (connect, CLIENTS_AT_ONCE)}


async def main(program, arguments):
    chosen = [arguments.pop(0)] if arguments and arguments[0] in ROLES else list(ROLES)
    bad = 0
    for role in chosen:
        began = time.monotonic()
        try:
            bad += await asyncio.wait_for(failed_twice(role, program, arguments), ROLE_LIMIT)
        except (Fault, asyncio.TimeoutError, OSError) as error:
            bad += 1
            print(f"{role}: FAILED: {error or 'it took too long'}", file=sys.stderr)
        print(f"{role}: {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
