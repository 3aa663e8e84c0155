"""The handling of each message by the PyPI clients, comparable to the typed plugin, and its duration."""
import time

import orjson


class Meter:
    def __init__(self, expected):
        self.expected = expected
        self.received = 0
        self.handlers = {"payment": self.payment}

    def begin(self):
        if self.received == 0:
            self.processor = time.process_time_ns()
            self.wall = time.perf_counter_ns()

    def message(self, text):
        self.begin()
        action = orjson.loads(text)
        self.handlers[action["action"]](action["body"])
        return self.received == self.expected

    def typed_body(self, body):
        """Takes a body that was read and validated before, which for the first message is not measured."""
        self.begin()
        self.payment_of(body.amount)
        return self.received == self.expected

    def payment(self, body):
        self.payment_of(body["amount"])

    def payment_of(self, amount):
        assert amount > 0
        self.received += 1

    def show(self):
        processor = (time.process_time_ns() - self.processor) / self.received
        wall = (time.perf_counter_ns() - self.wall) / self.received
        print(f"{processor:.1f} {wall:.1f}", flush=True)
