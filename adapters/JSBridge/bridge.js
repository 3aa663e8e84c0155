// An engine calls this before the page's scripts, with a transport: post(handler or null, json, number, timeout),
// answer(number, kind, text), warn(text), messagesWithoutListener, timers (optional).
(function (transport) {
'use strict';
// Captured once, because a page may change its globals and prototypes later.
const { stringify, parse } = JSON;
const { Error, Map, Set, Number, Promise, Proxy, String } = globalThis;
const { setTimeout = globalThis.setTimeout, clearTimeout = globalThis.clearTimeout } = transport;
const { create, defineProperties, defineProperty, freeze, getOwnPropertyDescriptors, getPrototypeOf, hasOwn } = Object;
const { isArray } = Array;
const { isFinite } = Number;
const { min } = Math;
const { then } = Promise.prototype;
const { apply } = Reflect;
const method = Function.prototype.bind.bind(Function.prototype.call);
const slice = method(String.prototype.slice);
// `instanceof` calls a method that a page may override.
const isInstance = method(Function.prototype[Symbol.hasInstance]);
const resolved = Promise.resolve();
// `then` must create a built-in promise, so the species lookup finds nothing here.
defineProperty(resolved, 'constructor', { __proto__: null, value: undefined });
// Copies the prototype's methods onto the object: later changes do not reach it.
const fixed = (made) => defineProperties(made, getOwnPropertyDescriptors(getPrototypeOf(made)));
const calls = fixed(new Map());
const listeners = fixed(new Map());
// Messages without a listener, in order.
const held = fixed(new Set());
const { next } = getPrototypeOf(held.values());
const none = create(null);
let last = 0;
let closing;

class SignalboxError extends Error {
  constructor(code, message, path, outcome) {
    super(message);
    define(this, 'code', code);
    if (path) define(this, 'path', path);
    if (outcome) define(this, 'outcome', outcome);
  }
  get name() { return 'SignalboxError'; }
}

const invalid = (path, message) => new SignalboxError('invalidArgument', path + ': ' + message, path);
const refused = (error, path) => (isInstance(SignalboxError, error) ? error : invalid(path, text(error)));

const own = (object, name) => (object && hasOwn(object, name) ? object[name] : undefined);
const isText = (value) => typeof value === 'string';

function expect(condition, path, what) {
  if (!condition) throw invalid(path, 'expected ' + what);
}

function text(error) {
  try { return slice(String(error), 0, 500); } catch { return 'no text'; }
}

// Throws if JSON would omit or change a value.
function write(value, root) {
  // A stack of the open containers, innermost first.
  let open = null;
  try {
    return stringify(value, function (key, item) {
      if (isInstance(Number, item)) item = +item;
      const type = typeof item;
      while (open && open.item !== this) open = open.outer;
      const isMember = open && !isArray(this);
      if (isText(item) || type === 'boolean' || item === null || (isMember && type === 'undefined')) return item;
      if (type === 'number' && isFinite(item)) return item;
      const path = !open ? root : open.path + (isMember ? '.' + key : '[' + key + ']');
      const isPlain = type === 'object' && !isInstance(Map, item) && !isInstance(Set, item);
      if (!isPlain) throw invalid(path, type + ' has no JSON form');
      open = { item, path, outer: open };
      return item;
    });
  } catch (error) {
    throw refused(error, open ? open.path : root);
  }
}

function post(handler, json, timeout, resolve, reject, onAccepted) {
  // By a timer: a page that calls again at once must not block its thread.
  if (closing) return void setTimeout(() => reject(closing), 0);
  const number = ++last;
  const timer = timeout && setTimeout(() => {
    fail(take(number), 'timeout', 'no answer within ' + timeout + ' ms');
  }, min(timeout, 2 ** 31 - 1));
  calls.set(number, { resolve, reject, timer, onAccepted, outcome: undefined });
  transport.post(handler, json, number, timeout);
}

function take(number) {
  const call = calls.get(number);
  calls.delete(number);
  if (call?.timer) clearTimeout(call.timer);
  return call;
}

function fail(call, code, message, path, outcome = call?.outcome) {
  call?.reject(new SignalboxError(code, message, path, outcome));
}

function call(action, body, options) {
  const hasBody = arguments.length > 1;
  return new Promise((resolve, reject) => {
    try {
      const timeout = own(options, 'timeout'), id = own(options, 'id'), onAccepted = own(options, 'onAccepted');
      expect(isText(action), 'action', 'a string');
      expect(id === undefined || isText(id), 'id', 'a string');
      expect(onAccepted === undefined || typeof onAccepted === 'function', 'onAccepted', 'a function');
      expect(timeout === undefined || (timeout > 0 && isFinite(timeout)), 'timeout', 'milliseconds');
      let json = '{"action":' + stringify(action);
      if (id !== undefined) json += ',"id":' + stringify(id);
      if (hasBody) json += ',"body":' + write(body, 'body');
      post(null, json + '}', timeout || 0, resolve, reject, onAccepted);
    } catch (error) {
      reject(refused(error, 'options'));
    }
  });
}

function postMessage(handler, values) {
  const promise = new Promise((resolve, reject) => {
    post(handler, values.length ? write(values[0], 'message') : 'null', 0, resolve, reject);
  });
  try { apply(then, promise, [undefined, () => {}]); } catch { /* The page replaced Promise.prototype.constructor. */ }
  return promise;
}

function on(action, listener) {
  expect(isText(action), 'action', 'a string');
  expect(typeof listener === 'function', 'listener', 'a function');
  listeners.set(action, listener);
  held.forEach((message) => {
    if (message.action !== action) return;
    held.delete(message);
    // Separate jobs: a listener may throw.
    apply(then, resolved, [() => deliver(message)]);
  });
  return () => {
    if (listeners.get(action) === listener) listeners.delete(action);
  };
}

function deliver(message) {
  const { action, id, json, number } = message;
  const listener = listeners.get(action);
  if (!listener) return hold(message);
  const body = parse(json), info = id === null ? { action } : { action, id };
  if (number) answer(number, listener, body, info);
  else listener(body, info);
}

async function answer(number, listener, body, info) {
  let kind = 'threw', reply;
  try {
    const value = await listener(body, info);
    kind = 'invalidReply';
    if (value !== undefined) reply = write(value, 'reply');
    kind = 'returned';
  } catch (error) {
    reply = text(error);
  }
  transport.answer(number, kind, reply);
}

function hold(message) {
  held.add(message);
  if (held.size <= transport.messagesWithoutListener) return;
  const oldest = apply(next, held.values(), none).value;
  held.delete(oldest);
  const { action, number } = oldest;
  const why = 'too many messages await a listener';
  transport.warn(why + '; dropped: ' + action);
  if (number) transport.answer(number, 'full', why);
}

// Defines an own property: an assignment could hit an element of that name or an inherited setter.
function define(object, name, value) {
  const open = { __proto__: null, value, enumerable: true, configurable: true, writable: true };
  defineProperty(object, name, hasOwn(object, name) ? { __proto__: null, value } : open);
}

if (!hasOwn(globalThis, 'window')) define(globalThis, 'window', globalThis);
if (!hasOwn(globalThis, 'webkit') || !globalThis.webkit) define(globalThis, 'webkit', {});
define(globalThis, 'signalbox', freeze({ call, on }));
define(globalThis.webkit, 'messageHandlers', new Proxy(create(null), {
  __proto__: null,
  get(made, name) {
    if (isText(name)) return made[name] ??= { postMessage: (...values) => postMessage(name, values) };
  },
}));

return {
  reply(number, json) {
    const call = take(number);
    try { call?.resolve(json && parse(json)); } catch (error) { call.reject(refused(error, 'reply')); }
  },
  refuse(number, code, message, path, outcome) {
    fail(take(number), code, message, path, outcome);
  },
  accepted(number) {
    const call = calls.get(number);
    if (!call || call.outcome) return;
    call.outcome = 'accepted';
    const { onAccepted } = call;
    // A separate job, because it may throw.
    if (onAccepted) apply(then, resolved, [() => void onAccepted()]);
  },
  receive: (action, id, json, number) => deliver({ action, id, json, number }),
  close(message) {
    closing = new SignalboxError('closed', message);
    calls.forEach((_, number) => fail(take(number), 'closed', message));
  },
};
})
