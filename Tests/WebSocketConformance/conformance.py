"""Runs the cases of the Autobahn test suite, through kosoku, against the command.

    conformance.py SIGNALBOX [serve|connect] [CASE...]

`serve` tests the command as a server, with the cases as its clients. `connect` tests it as a client, one process for each
case. Both echo through a plugin behind the supervisor, and compress. CASE defaults to SECTIONS, and every case of a section
runs. KNOWN lists the expected failures of each role with their reason; such a case may also pass. Any other failed case runs once more,
alone, because cases have deadlines that pass on a busy machine. Exits with status 1 if it fails again, if a program exits
unexpectedly, or if the number of cases is wrong.
"""

import asyncio
import collections
import pathlib
import re
import sys
import time

import kosoku

HERE = pathlib.Path(__file__).resolve().parent
# Left out: message limits (9.3 to 9.8), the other payloads of 12 and the other window sizes of 13. They take a quarter of
# an hour and exercise the same paths of our code. 13.2 requests messages without context, and 13.5 also a window of 512
# bytes.
SECTIONS = {
    "1.*": 16, "2.*": 11, "3.*": 7, "4.*": 10, "5.*": 20, "6.*": 145, "7.*": 37,
    "9.1.*": 6, "9.2.*": 6, "10.*": 1, "12.1.*": 18, "13.1.*": 18, "13.2.*": 18, "13.5.*": 18,
}
PINGS = "libwebsockets 4.1.6 queues one pong and ignores pings meanwhile, as RFC 6455, 5.5.3, allows"
KNOWN = {"serve": {"2.10": PINGS, "2.11": PINGS}, "connect": {}}
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}
AGENT = "signalbox"
# Several cases at once, because some only wait. Each client is a process.
SERVED_AT_ONCE = 4
CLIENTS_AT_ONCE = 3
# Done, or done with dead letters: some cases close without waiting for their echo, so the server cannot send it.
SERVE_STATUSES = {0, 83}
# In seconds. A program that exceeds it fails.
PROGRAM_LIMIT = 120
# Compression cases have deadlines of up to 480.
CLIENT_LIMIT = 500
# Includes the cases that run once more.
ROLE_LIMIT = 690


class Fault(Exception):
    """A failure other than that of a case."""


async def listening(process):
    """Returns the port from the log. Without such a line, raises a fault with the end of standard error."""
    lines = []
    while line := await process.stderr.readline():
        lines.append(line.decode(errors="replace").rstrip())
        if found := re.search(r"listening on ws://127\.0\.0\.1:(\d+)/", lines[-1]):
            return int(found[1])
    raise Fault("serve ended before it listened:\n" + "\n".join(lines[-20:]))


async def drained(stream, kept):
    """Keeps reading, so that the program never blocks on a full pipe."""
    while line := await stream.readline():
        kept.append(line.decode(errors="replace").rstrip())


async def ended(process, within):
    """Returns the exit status. Kills a process that does not exit in time, and returns `None`."""
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
        program, "serve", str(HERE / "serve.yaml"),
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
        program, "connect", url, str(HERE / "connect.yaml"),
        # An open pipe without a writer, because the client exits at the end of its input.
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
    # The case judges how the connection ended. Death by a signal, or a hang, is a fault of the program.
    if status is None or status < 0:
        raise Fault(f"connect {url} ended with {status}:\n" + "\n".join(lines))


async def case_count(port):
    """Returns the server's number of cases, from its first frame, whose length is in the second byte."""
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
    """Prints the results of the cases, and returns the unexpected failures."""
    counts = collections.Counter(case.behavior.value for case in found if case.case_id not in KNOWN[role])
    closes = collections.Counter(case.behavior_close.value for case in found if case.case_id not in KNOWN[role])
    print(f"{role}: {len(found)} cases: " + ", ".join(f"{counts[word]} {word}" for word in sorted(counts)))
    print(f"{role}: close behavior: " + ", ".join(f"{closes[word]} {word}" for word in sorted(closes)))
    bad = []
    for case in found:
        id, word = case.case_id, case.behavior.value
        if id in KNOWN[role]:
            print(f"{role}: {id} {word}: {'known: ' + KNOWN[role][id] if word not in GOOD else 'passes now'}")
        elif word not in GOOD:
            bad.append(id)
            print(f"{role}: FAILED {id} {word}: {case.description.strip()}\n    expected {case.expectation.strip()}\n"
                  f"    {case.result}; {case.result_close}", file=sys.stderr)
    if expected is not None and len(found) != expected:
        raise Fault(f"{role}: {expected} cases expected, {len(found)} found")
    return bad


async def failed_twice(role, program, cases):
    """Returns the number of unexpected failures that also failed alone."""
    run, at_once = ROLES[role]
    expected = None if cases else sum(SECTIONS.values())
    bad = judged(role, await run(program, cases or list(SECTIONS), at_once), expected)
    if not bad:
        return 0
    print(f"{role}: retrying one at a time: " + ", ".join(bad), file=sys.stderr)
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
            print(f"{role}: FAILED: {error or 'timed out'}", file=sys.stderr)
        print(f"{role}: {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
