"""Plugins for Signalbox in Python 3.8 or later: one file, no dependencies. Copy it next to your program.

    from signalbox import action, run

    @action("order")
    def order(body, context):
        return {"accepted": body["item"]}

    run()

A configuration starts the program with `use: process` and `command: [python3, ./orders.py]`, once for all of its
actions. What the function returns is the reply. A parameter with a type, such as a dataclass, gets a body of that type;
a body that does not fit is declined with the path of the member. What the program prints goes to stderr, and Signalbox
logs it.
"""

import dataclasses
import inspect
import json
import os
import sys
import threading
import traceback
import typing
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

__all__ = ["Context", "Invalid", "Retry", "action", "run", "send"]


class Retry(Exception):
    """Raise this if the same call may succeed later. Signalbox calls again if the plugin has `retry`."""


class Invalid(Exception):
    """Raise this to decline a body. `path` names the member, such as `body.items[0].price`."""

    def __init__(self, path, message):
        super().__init__(message)
        self.path = path


class Context:
    """What is known about a call besides the body."""

    __slots__ = ("action", "id", "origin", "received_at", "attempt", "redelivered", "body_kind", "cancelled")

    def __init__(self, call):
        self.action = call["action"]
        #: The sender's id of the message, or one that Signalbox assigned.
        self.id = call["actionID"]
        #: The `source`, and what is known about the sender.
        self.origin = call["origin"]
        self.received_at = call["receivedAt"]
        self.attempt = call["attempt"]
        #: Whether the message may have been handled before.
        self.redelivered = call.get("redelivered", False)
        #: `json`, `text`, or `bytes`: then the body is Base64.
        self.body_kind = call.get("bodyKind", "json")
        #: Becomes true when nobody waits for the call any more, if the program runs with threads.
        self.cancelled = False


def action(name):
    """Registers a function for an action. It receives the body and the context, and returns the reply."""

    def register(function):
        parameters = list(inspect.signature(function).parameters.values())
        hints = typing.get_type_hints(function)
        kind = hints.get(parameters[0].name, typing.Any) if parameters else typing.Any
        _handlers[name] = (function, _reader(kind), len(parameters))
        return function

    return register


def send(action, body=None, id=None):
    """Sends an action without being asked. It comes from the source `internal`, which the plugin's `from` must name."""
    sent = {"action": action, "body": body}
    if id is not None:
        sent["id"] = id
    _output.add(_line({"send": sent}), flush=threading.current_thread() is not _output.owner)


def run(threads=1):
    """Serves calls until Signalbox ends the program. With more than one thread, calls overlap as `max_concurrent` allows."""
    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    running, slow = {}, {}
    _output.add(_line({"ready": True}), flush=True)
    for lines in _chunks():
        for position, line in enumerate(lines):
            call = json.loads(line)
            if "id" not in call:
                if "ping" in call:
                    _output.add(_line({"pong": call["ping"]}), flush=True)
                elif call.get("cancel") in running:
                    running[call["cancel"]].cancelled = True
            elif pool:
                context = running[call["id"]] = Context(call)
                pool.submit(_serve, call, context, running)
            else:
                # Answers are written together while the functions are fast. None waits for a slow one.
                name = call["action"]
                if slow.get(name):
                    _output.flush()
                began = monotonic()
                _output.add(_answer(call, Context(call)))
                slow[name] = monotonic() - began > 0.0002
                if slow[name] or position + 1 == len(lines):
                    _output.flush()
        _output.flush()
    if pool:
        pool.shutdown()


_handlers = {}


class _Output:
    """Writes lines to the stdout that the program had at its start."""

    def __init__(self):
        self.descriptor = os.dup(1)
        os.set_inheritable(self.descriptor, False)
        # What the program prints must not get between the lines.
        os.dup2(2, 1)
        sys.stdout.reconfigure(line_buffering=True)
        self.owner = threading.current_thread()
        self.lock = threading.Lock()
        self.lines = []

    def add(self, line, flush=False):
        with self.lock:
            self.lines.append(line)
            if flush or len(self.lines) >= 256:
                self._write()

    def flush(self):
        with self.lock:
            self._write()

    def _write(self):
        if not self.lines:
            return
        waiting = memoryview(("\n".join(self.lines) + "\n").encode())
        self.lines.clear()
        while waiting:
            waiting = waiting[os.write(self.descriptor, waiting):]


def _chunks():
    """Yields the complete lines of each read."""
    rest = b""
    while True:
        chunk = os.read(0, 1 << 18)
        if not chunk:
            return
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if lines:
            yield lines


def _serve(call, context, running):
    try:
        _output.add(_answer(call, context), flush=True)
    finally:
        running.pop(call["id"], None)


def _answer(call, context):
    handler = _handlers.get(context.action)
    if handler is None:
        return _error(call, f"the program has no function for the action '{context.action}'")
    function, read, count = handler
    try:
        reply = function(*(read(call["body"], "body"), context)[:count])
        return _line({"id": call["id"], "reply": reply})
    except Invalid as error:
        return _error(call, str(error), path=error.path)
    except Retry as error:
        return _error(call, str(error) or "try again", retryable=True)
    except Exception as error:
        traceback.print_exc()
        return _error(call, f"{type(error).__name__}: {error}")


def _error(call, message, **rest):
    return _line({"id": call["id"], "error": {"message": message, **rest}})


def _line(members):
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


# Typed bodies


def _reader(kind):
    """Returns a function that turns a JSON value into the type, or raises `Invalid` with the path."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in (typing.Any, inspect.Parameter.empty):
        return lambda value, path: value
    if kind is type(None):
        return _expecting("null", lambda value: value is None)
    if kind is float:
        return _expecting("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
    if kind is int:
        return _expecting("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool))
    if kind in (str, bool):
        return _expecting({str: "text", bool: "true or false"}[kind], lambda value: isinstance(value, kind))
    if origin is typing.Literal:
        return _expecting(" or ".join(map(repr, arguments)), lambda value: value in arguments)
    if origin is list or kind is list:
        return _list_reader(_reader(arguments[0] if arguments else typing.Any))
    if origin is dict or kind is dict:
        return _object_reader(_reader(arguments[1] if arguments else typing.Any))
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    if arguments:
        return _union_reader([_reader(argument) for argument in arguments])
    raise TypeError(f"a body cannot be read as {kind}")


def _expecting(text, fits):
    def read(value, path):
        if not fits(value):
            raise Invalid(path, f"expected {text}")
        return value

    return read


def _list_reader(element):
    def read(value, path):
        if not isinstance(value, list):
            raise Invalid(path, "expected a list")
        return [element(item, f"{path}[{index}]") for index, item in enumerate(value)]

    return read


def _object_reader(member):
    def read(value, path):
        if not isinstance(value, dict):
            raise Invalid(path, "expected an object")
        return {name: member(item, f"{path}.{name}") for name, item in value.items()}

    return read


def _dataclass_reader(kind):
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    fields = [
        (field.name, _reader(hints[field.name]), field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(kind)
    ]

    def read(value, path):
        if not isinstance(value, dict):
            raise Invalid(path, "expected an object")
        members = {}
        for name, member, is_required in fields:
            if name in value:
                members[name] = member(value[name], f"{path}.{name}")
            elif is_required:
                raise Invalid(f"{path}.{name}", "is missing")
        return kind(**members)

    return read


def _union_reader(readers):
    def read(value, path):
        for reader in readers[:-1]:
            try:
                return reader(value, path)
            except Invalid:
                pass
        return readers[-1](value, path)

    return read


_output = _Output()
