"""The PyPI clients that the MQTT rows compare with.

usage: mqtt_clients.py paho|aiomqtt|gmqtt|faststream PORT TOPIC COUNT QOS

The first three read every message with orjson, check one member and call a function by the action's name, as the typed plugin does.
FastStream reads with orjson too, validates with pydantic, and calls the handler of the topic with a typed message.
MQTT 5, receive maximum 250. Prints "ready" once subscribed, and processor and wall time in nanoseconds a message.
"""
import asyncio
import signal
import sys

from payment_meter import Meter

RECEIVE_MAXIMUM = 250


def ready(*_):
    print("ready", flush=True)


def connect_properties():
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.CONNECT)
    properties.ReceiveMaximum = RECEIVE_MAXIMUM
    return properties


async def with_paho(port, topic, qos, meter):
    import paho.mqtt.client as paho

    def take(client, _, message):
        if meter.message(message.payload):
            meter.show()
            client.disconnect()

    client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.on_connect = lambda *_: client.subscribe(topic, qos)
    client.on_subscribe = ready
    client.on_message = take
    client.connect("127.0.0.1", port, properties=connect_properties())
    client.loop_forever()


async def with_aiomqtt(port, topic, qos, meter):
    import aiomqtt

    version = aiomqtt.ProtocolVersion.V5
    async with aiomqtt.Client("127.0.0.1", port, protocol=version, properties=connect_properties()) as client:
        await client.subscribe(topic, qos)
        ready()
        async for message in client.messages:
            if meter.message(message.payload):
                break
        meter.show()


async def with_gmqtt(port, topic, qos, meter):
    import gmqtt

    done = asyncio.Event()

    def take(_client, _topic, payload, _qos, _properties):
        if meter.message(payload):
            meter.show()
            done.set()
        return 0

    client = gmqtt.Client(None, receive_maximum=RECEIVE_MAXIMUM)
    client.on_message = take
    client.on_subscribe = ready
    await client.connect("127.0.0.1", port)
    client.subscribe(topic, qos)
    await done.wait()
    await client.disconnect()


async def with_faststream(port, topic, qos, meter):
    from faststream.mqtt import MQTTBroker, QoS

    done = asyncio.Event()
    # Without a receive maximum: its client counts more messages in flight than the broker does, and ends the connection.
    broker = MQTTBroker(f"mqtt://127.0.0.1:{port}", logger=None)

    @broker.subscriber(topic, qos=QoS(qos))
    async def take(message: typed_message()):
        if meter.typed_body(message.body):
            meter.show()
            done.set()

    await broker.start()
    ready()
    await done.wait()
    await broker.stop()


def typed_message():
    """Returns the type of the message, with the members that the typed plugin's has."""
    import typing

    import pydantic

    class Payment(pydantic.BaseModel):
        amount: int
        transactionId: str
        paymentId: str
        paymentGoodsName: str

    class Message(pydantic.BaseModel):
        action: typing.Literal["payment"]
        body: Payment
        id: typing.Optional[str] = None

    return Message


CLIENTS = {"paho": with_paho, "aiomqtt": with_aiomqtt, "gmqtt": with_gmqtt, "faststream": with_faststream}
name, port, topic, count, qos = sys.argv[1:]
# Ends a client that hangs.
signal.alarm(180)
asyncio.run(CLIENTS[name](int(port), topic, int(qos), Meter(int(count))))
