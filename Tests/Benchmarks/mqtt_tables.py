"""The arguments of mqtt_rows.py, and the measuring that its parts share."""
import os
import subprocess
import sys

from processes import SECONDS, Running

PROGRAMS, PYTHON, PART = sys.argv[1:4]
IS_QUICK = sys.argv[4] == "--quick"
ROUNDS = 1 if IS_QUICK else int(sys.argv[4])


def program(name):
    return os.path.join(PROGRAMS, name)


OURS, RAW, PUBLISHER = program("ReceiveBenchmark"), program("RawSubscriber"), program("RawPublisher")
C_BATCH, C_LOOP, COMMAND = "C, external batch", "C, the library's loop", "mosquitto_sub"
TYPED = "MQTTPush, typed plugin"


def messages(count):
    return count // 10 if IS_QUICK else count


def publish(broker, topic, count, qos, what):
    """Publishes a file as fast as possible, or at a rate, in which case it returns the duration in seconds."""
    command = [PUBLISHER, broker.port, topic, count, qos, what]
    done = subprocess.run([str(part) for part in command], check=True, timeout=SECONDS, capture_output=True, text=True)
    return float(done.stdout) if done.stdout else None


def percentiles(latencies):
    """Returns p50, p99 and p99.9 of nanoseconds, in microseconds."""
    ordered = sorted(latencies)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1e3 for part in (0.5, 0.99, 0.999)]


def program_latency(broker, command, count, rate):
    """Returns percentiles and processor time, in microseconds, and the rate."""
    with Running(*command, broker.port, "bench/paced", count, 1) as subscriber:
        subscriber.line()
        seconds = publish(broker, "bench/paced", count, 1, f"{rate}/s")
        processor = subscriber.numbers()[0] / 1e3
        return [*percentiles(subscriber.rest()), processor], count / seconds
