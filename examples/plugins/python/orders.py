#!/usr/bin/env python3
"""Handles orders: a typed body, an error that names a member, a call that may succeed later, and an action of its own."""

from dataclasses import dataclass

from signalbox import Invalid, Retry, action, run, send

stock = {"tea": 40, "coffee": 25}


@dataclass
class Order:
    item: str
    count: int = 1


@action("order")
def order(body: Order, context):
    if body.item not in stock:
        raise Invalid("body.item", "there is no such item")
    if stock[body.item] < body.count:
        raise Retry(f"wait until there is more {body.item}")
    stock[body.item] -= body.count
    send("stock", {"item": body.item, "left": stock[body.item]})
    return {"ordered": body.count, "item": body.item}


run()
