"""The PyPI clients that the WebSocket rows compare with.

usage: websocket_clients.py picows|websockets PORT COUNT

Each reads every message with orjson, checks one member and calls a function by the action's name, as the typed plugin does.
Prints processor and wall time in nanoseconds a message.
"""
import asyncio
import sys

from payment_meter import Meter


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
