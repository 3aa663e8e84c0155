"""The PyPI clients that the MQTT rows compare with.

usage: mqtt_clients.py paho|aiomqtt|gmqtt PORT TOPIC COUNT QOS

Each reads every message with orjson, checks one member and calls a function by the action's name, as the typed plugin does.
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


CLIENTS = {"paho": with_paho, "aiomqtt": with_aiomqtt, "gmqtt": with_gmqtt}
name, port, topic, count, qos = sys.argv[1:]
# Ends a client that hangs.
signal.alarm(180)
asyncio.run(CLIENTS[name](int(port), topic, int(qos), Meter(int(count))))
