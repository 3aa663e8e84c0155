"""A chat server with python-socketio, the peer of the WebSocket rows whose server answers.

usage: chat_server.py COUNT

Its one event handler validates the body with msgspec and returns, which acknowledges the event. JSON is read with orjson. Prints the
port, and after COUNT events processor and wall time in nanoseconds a message.
"""
import asyncio
import socket
import sys

import msgspec
import orjson
import socketio
import uvicorn
import uvloop

from payment_meter import Meter
from processes import LOOPBACK


class Payment(msgspec.Struct):
    amount: int
    transactionId: str
    paymentId: str
    paymentGoodsName: str


class FastJSON:
    """orjson with the functions of the standard library's json that python-socketio calls."""

    @staticmethod
    def dumps(value, **_):
        return orjson.dumps(value).decode()

    @staticmethod
    def loads(text, **_):
        return orjson.loads(text)


async def serve(listener, meter):
    # No compression, as in the other rows, and no pings while it is measured.
    chat = socketio.AsyncServer(
        async_mode="asgi", transports=["websocket"], http_compression=False, ping_interval=600, json=FastJSON
    )
    done = asyncio.Event()

    @chat.on("payment")
    async def payment(_, body):
        if meter.typed_body(msgspec.convert(body, Payment)):
            meter.show()
            done.set()
        return "ok"

    settings = uvicorn.Config(
        socketio.ASGIApp(chat), log_level="warning", lifespan="off", ws="websockets-sansio", ws_per_message_deflate=False
    )
    server = uvicorn.Server(settings)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    await done.wait()
    server.should_exit = server.force_exit = True
    await running


with socket.create_server((LOOPBACK, 0), backlog=1_000) as listener:
    print(listener.getsockname()[1], flush=True)
    uvloop.run(serve(listener, Meter(int(sys.argv[1]))))
