// This script connects bridge.js with relay.js as its transport. It runs in the page's world, in the top frame only, at
// document start and before the scripts of the page. It evaluates to a function that takes bridge.js and the settings
// origins, handlers and messagesWithoutListener.
(function (bridge, settings) {
'use strict';
// This script may run again in the same document after document.open(), which removes the listeners. By then, the page
// may have changed the prototypes. The key is a symbol, because a named element shadows even own members of `document`.
const listening = Symbol.for('signalbox:listen');
if (Object.hasOwn(document, listening)) return void document[listening]();
const { origin } = location;
let isListed = false;
for (let index = 0; index < settings.origins.length; index += 1) isListed ||= settings.origins[index] === origin;
if (globalThis.origin !== origin || !isListed) return;

// These are captured once, because a page may change its globals and prototypes later. Members are read from the
// prototypes, because a named element shadows any member of `document` (HTML, 3.1.6). On `window`, such an element
// answers only names that neither the object nor its prototypes have (7.2.2.3), such as `signalbox` and `then`.
const { stringify, parse } = JSON;
const { setTimeout, CustomEvent, String, Error } = globalThis;
const { bind, call } = Function.prototype;
// Turns a method into a function whose first argument is the receiver.
const method = bind.bind(call);
const getter = (type, name) => method(Object.getOwnPropertyDescriptor(type.prototype, name).get);
const add = method(EventTarget.prototype.addEventListener);
const dispatch = method(EventTarget.prototype.dispatchEvent);
const detailOf = getter(CustomEvent, 'detail');
const reasonOf = getter(PromiseRejectionEvent, 'reason');
const slice = method(String.prototype.slice);
const toWellFormed = method(String.prototype.toWellFormed);
const isInstance = method(Function.prototype[Symbol.hasInstance]);
const define = (object, name, value, isOpen) => Object.defineProperty(object, name, {
  __proto__: null, value, enumerable: true, configurable: isOpen, writable: isOpen,
});

// The engine's own `webkit` is read-only and bypasses the bridge.
let scope = {};
try { define(globalThis, 'webkit', scope, false); } catch { scope = globalThis.webkit; }
define(scope, 'messageHandlers', undefined, true);

// The program reads only well-formed text.
const quote = (text) => stringify(toWellFormed(text));
const short = (text) => quote(slice(text, 0, 1000));

// The numbers of the calls that have no outcome from the program yet.
const pending = Object.defineProperties(new Set(), Object.getOwnPropertyDescriptors(Set.prototype));

// Sends a record to the relay. Returns whether the relay accepted it.
function sendUp(head, handler, json) {
  listen();
  const detail = head + '\n' + handler + '\n' + json;
  return !dispatch(document, new CustomEvent('signalbox:up', { __proto__: null, detail, cancelable: true }));
}

const functions = bridge({
  messagesWithoutListener: settings.messagesWithoutListener,
  post(handler, json, number, timeout) {
    pending.add(number);
    if (sendUp('call ' + number + ' ' + timeout, handler === null ? '' : quote(handler), json)) return;
    setTimeout(() => refuse(number, 'closed', 'the connection to the program was lost: the document was reopened'), 0);
  },
  answer(number, kind, text) {
    sendUp('answer ' + number + ' ' + kind, '', text === undefined ? '' : kind === 'returned' ? text : quote(text));
  },
  warn: (text) => sendUp('warn', '', short(text)),
});

function refuse(number, code, text, path, outcome) {
  pending.delete(number);
  functions.refuse(number, code, text, path, outcome);
}

// The handlers for records from the program, by the first element of the record.
const operations = {
  __proto__: null,
  reply(record) {
    pending.delete(record[1]);
    functions.reply(record[1], record[2] ?? undefined);
  },
  refuse: (record) => refuse(record[1], record[2], record[3], record[4], record[5]),
  accepted: (record) => functions.accepted(record[1]),
  receive: (record) => functions.receive(record[1], record[2], record[3], record[4]),
  lost: (record) => pending.forEach((number) => refuse(number, 'closed', record[1])),
  close(record) {
    pending.clear();
    functions.close(record[1]);
  },
};

function receive(event) {
  const records = parse(detailOf(event));
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index];
    // Each record has a separate `try`, because a listener of the page may throw.
    try { operations[record[0]](record); } catch (error) { setTimeout(() => { throw error; }, 0); }
  }
}

function rejected(event) {
  let text;
  try {
    const reason = reasonOf(event);
    text = isInstance(Error, reason) ? String(reason) : 'rejected: ' + String(reason);
  } catch {
    text = 'rejected: a value without text';
  }
  sendUp('error', '', short(text));
}

// Adds the listeners. A listener that was already added is not added twice.
function listen() {
  add(document, 'signalbox:down', receive);
  add(globalThis, 'unhandledrejection', rejected);
}

const made = scope.messageHandlers;
const handlers = Object.create(null);
for (const name of settings.handlers) handlers[name] = Object.freeze({ postMessage: made[name].postMessage });
define(scope, 'messageHandlers', Object.freeze(handlers), false);
// The document keeps `scope` alive, because the engine would replace an unreferenced object with a new one that has the
// engine's own handlers.
Object.defineProperty(document, listening, { value: Object.freeze(Object.assign(listen, { scope })) });
listen();
})
