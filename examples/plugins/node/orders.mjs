// Handles orders: a shaped body, an error that names a member, a call that may succeed later, and an action of its own.

import { Invalid, Retry, on, run, send } from './signalbox.mjs';

const stock = new Map([['tea', 40], ['coffee', 25]]);

on('order', { item: 'string', count: 'integer?' }, async ({ item, count = 1 }) => {
  const left = stock.get(item);
  if (left === undefined) throw new Invalid('body.item', 'there is no such item');
  if (left < count) throw new Retry(`wait until there is more ${item}`);
  stock.set(item, left - count);
  send('stock', { item, left: left - count });
  return { ordered: count, item };
});

run();
