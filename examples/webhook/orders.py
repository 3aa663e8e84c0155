#!/usr/bin/env python3
"""Handles orders of a webhook, and tells the pages and the kitchen about each one."""

import os
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugins", "python"))
from signalbox import action, run, send  # noqa: E402


@dataclass
class Order:
    dish: str
    count: int = 1


@action("order")
def order(body: Order, context):
    send("cook", {"dish": body.dish, "count": body.count})
    return {"ordered": body.count}


run()
