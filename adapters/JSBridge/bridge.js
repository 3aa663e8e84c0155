// An engine calls this before the page's scripts, with a transport: post(handler or null, json, number, timeout),
// answer(number, kind, text), warn(text), messagesWithoutListener, perhaps timers.
(function (transport) {
'use strict';
// Taken now, as a page may change its globals.
const { stringify, parse } = JSON;
const { setTimeout = globalThis.setTimeout, clearTimeout = globalThis.clearTimeout } = transport;
const calls = new Map();
const listeners = new Map();
let held = [];
let last = 0;
let closing;

class SignalboxError extends Error {
  constructor(code, message, path, outcome) {
    super(message);
    Object.assign(this, { code }, path && { path }, outcome && { outcome });
  }
  get name() { return 'SignalboxError'; }
}

const invalid = (path, message) => new SignalboxError('invalidArgument', path + ': ' + message, path);
const refused = (error, path) => (error instanceof SignalboxError ? error : invalid(path, text(error)));

const isText = (value) => typeof value === 'string';

function need(condition, path, what) {
  if (!condition) throw invalid(path, what + ' expected');
}

function text(error) {
  try { return String(error).slice(0, 500); } catch { return 'no text'; }
}

// What JSON would leave out or change is refused.
function write(value, root) {
  const open = [];
  try {
    return stringify(value, function (key, item) {
      if (item instanceof Number) item = +item;
      const type = typeof item;
      while (open.length && open.at(-1).item !== this) open.pop();
      const holder = open.at(-1);
      const isMember = holder && !Array.isArray(this);
      if (isText(item) || type === 'boolean' || item === null || (isMember && type === 'undefined')) return item;
      if (type === 'number' && Number.isFinite(item)) return item;
      const path = !holder ? root : holder.path + (isMember ? '.' + key : '[' + key + ']');
      if (type !== 'object' || item instanceof Map || item instanceof Set) throw invalid(path, type + ' has no JSON form');
      open.push({ item, path });
      return item;
    });
  } catch (error) {
    throw refused(error, open.length ? open.pop().path : root);
  }
}

function post(handler, json, timeout, resolve, reject) {
  // By a timer: one that tries for ever must not hold its thread.
  if (closing) return void setTimeout(() => reject(closing), 0);
  const number = ++last;
  const timer = timeout && setTimeout(() => {
    take(number);
    reject(new SignalboxError('timeout', 'no answer in ' + timeout + ' ms'));
  }, Math.min(timeout, 2 ** 31 - 1));
  calls.set(number, { resolve, reject, timer });
  transport.post(handler, json, number, timeout);
}

function take(number) {
  const call = calls.get(number);
  calls.delete(number);
  if (call?.timer) clearTimeout(call.timer);
  return call;
}

function call(action, body, options) {
  const hasBody = arguments.length > 1;
  return new Promise((resolve, reject) => {
    try {
      const { timeout, id } = options || {};
      need(isText(action), 'action', 'a string');
      need(id === undefined || isText(id), 'id', 'a string');
      need(timeout === undefined || (timeout > 0 && Number.isFinite(timeout)), 'timeout', 'milliseconds');
      let json = '{"action":' + stringify(action);
      if (id !== undefined) json += ',"id":' + stringify(id);
      if (hasBody) json += ',"body":' + write(body, 'body');
      post(null, json + '}', timeout || 0, resolve, reject);
    } catch (error) {
      reject(refused(error, 'options'));
    }
  });
}

function postMessage(handler, values) {
  const promise = new Promise((resolve, reject) => {
    post(handler, values.length ? write(values[0], 'message') : 'null', 0, resolve, reject);
  });
  promise.catch(() => {});
  return promise;
}

function on(action, listener) {
  need(isText(action), 'action', 'a string');
  need(typeof listener === 'function', 'listener', 'a function');
  listeners.set(action, listener);
  const waiting = held;
  held = [];
  for (const message of waiting) {
    // Each by itself: one may throw.
    if (message.action === action) Promise.resolve(message).then(deliver);
    else held.push(message);
  }
  return () => {
    if (listeners.get(action) === listener) listeners.delete(action);
  };
}

function deliver(message) {
  const { action, id, json, number } = message;
  const listener = listeners.get(action);
  if (!listener) return hold(message);
  const values = [parse(json), id === null ? { action } : { action, id }];
  if (number) answer(number, listener, values);
  else listener(...values);
}

async function answer(number, listener, values) {
  let kind = 'threw', reply;
  try {
    const value = await listener(...values);
    kind = 'invalidReply';
    if (value !== undefined) reply = write(value, 'reply');
    kind = 'returned';
  } catch (error) {
    reply = text(error);
  }
  transport.answer(number, kind, reply);
}

function hold(message) {
  held.push(message);
  if (held.length <= transport.messagesWithoutListener) return;
  const { action, number } = held.shift();
  const why = 'too many wait for a listener';
  transport.warn(why + '; dropped: ' + action);
  if (number) transport.answer(number, 'full', why);
}

globalThis.window ??= globalThis;
globalThis.webkit ??= {};
globalThis.signalbox = Object.freeze({ call, on });
webkit.messageHandlers = new Proxy(Object.create(null), {
  get(made, name) {
    if (isText(name)) return made[name] ??= { postMessage: (...values) => postMessage(name, values) };
  },
});

return {
  reply(number, json) {
    const call = take(number);
    try { call?.resolve(json && parse(json)); } catch (error) { call.reject(refused(error, 'reply')); }
  },
  refuse: (number, ...reason) => take(number)?.reject(new SignalboxError(...reason)),
  receive: (action, id, json, number) => deliver({ action, id, json, number }),
  close(message) {
    closing = new SignalboxError('closed', message);
    for (const number of [...calls.keys()]) take(number).reject(closing);
  },
};
})
