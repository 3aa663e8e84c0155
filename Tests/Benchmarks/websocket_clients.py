"""The clients of PyPI that the WebSocket rows stand beside.

usage: websocket_clients.py picows|websockets PORT COUNT

Each reads every message with orjson, checks one member and calls a function by the action's name, as the typed plugin does.
Prints processor and wall time in nanoseconds a message.
"""
import asyncio
import sys
import time

import orjson


class Meter:
    def __init__(self, expected):
        self.expected = expected
        self.received = 0
        self.handlers = {"payment": self.payment}

    def message(self, text):
        if self.received == 0:
            self.processor = time.process_time_ns()
            self.wall = time.perf_counter_ns()
        action = orjson.loads(text)
        self.handlers[action["action"]](action["body"])
        return self.received == self.expected

    def payment(self, body):
        assert body["amount"] > 0
        self.received += 1

    def show(self):
        processor = (time.process_time_ns() - self.processor) / self.received
        wall = (time.perf_counter_ns() - self.wall) / self.received
        print(f"{processor:.1f} {wall:.1f}", flush=True)


async def with_picows(port, meter):
    import picows

    class Listener(picows.WSListener):
        def on_ws_frame(self, transport, frame):
            if frame.msg_type == picows.WSMsgType.TEXT and meter.message(frame.get_payload_as_memoryview()):
                meter.show()
                transport.disconnect(graceful=False)

    transport, _ = await picows.ws_connect(Listener, f"ws://127.0.0.1:{port}/")
    await transport.wait_disconnected()


async def with_websockets(port, meter):
    from websockets.asyncio.client import connect

    async with connect(f"ws://127.0.0.1:{port}/", compression=None, ping_interval=None, close_timeout=1) as connection:
        while not meter.message(await connection.recv(decode=False)):
            pass
        meter.show()


CLIENTS = {"picows": with_picows, "websockets": with_websockets}
asyncio.run(asyncio.wait_for(CLIENTS[sys.argv[1]](int(sys.argv[2]), Meter(int(sys.argv[3]))), 120))
