// In the page's world, top frame only, at document start, before any script of the page: bridge.js with relay.js as its
// transport. Evaluated to a function of bridge.js and settings: origins, handlers, messagesWithoutListener.
(function (bridge, settings) {
'use strict';
if (globalThis.origin !== location.origin || !settings.origins.includes(location.origin)) return;
// After the page's document.open(), which takes the listeners away, this may run again in the same document.
const listening = Symbol.for('signalbox:listen');
if (document[listening]) return void document[listening]();

// Taken now, as a page may change its globals.
const { stringify, parse } = JSON;
const { setTimeout, CustomEvent, String, Error } = globalThis;
const [dispatch, add, addToWindow] = [
  document.dispatchEvent.bind(document), document.addEventListener.bind(document), globalThis.addEventListener,
];
const define = (object, name, value, isOpen) =>
  Object.defineProperty(object, name, { value, enumerable: true, configurable: isOpen, writable: isOpen });

// The engine's own names are read-only, and lead past the bridge.
let scope = {};
try { define(globalThis, 'webkit', scope, false); } catch { scope = globalThis.webkit; }
define(scope, 'messageHandlers', undefined, true);

// Half a surrogate pair is no text to the program.
const quote = (text) => stringify(text.toWellFormed());

// Numbers of calls that have not settled, or not in the program's eyes.
const pending = new Set();

// Whether the relay has heard it.
function up(head, handler, json) {
  listen();
  const detail = head + '\n' + handler + '\n' + json;
  return !dispatch(new CustomEvent('signalbox:up', { detail, cancelable: true }));
}

const functions = bridge({
  messagesWithoutListener: settings.messagesWithoutListener,
  post(handler, json, number, timeout) {
    pending.add(number);
    if (up('call ' + number + ' ' + timeout, handler === null ? '' : quote(handler), json)) return;
    setTimeout(() => words.refuse(number, 'closed', 'the way to the program is gone: the document was opened anew'), 0);
  },
  answer(number, kind, text) {
    up('answer ' + number + ' ' + kind, '', text === undefined ? '' : kind === 'returned' ? text : quote(text));
  },
  warn: (text) => up('warn', '', quote(text.slice(0, 1000))),
});

const words = {
  reply(number, json) {
    pending.delete(number);
    functions.reply(number, json ?? undefined);
  },
  refuse(number, ...reason) {
    pending.delete(number);
    functions.refuse(number, ...reason);
  },
  receive: functions.receive,
  lost(message) {
    for (const number of [...pending]) words.refuse(number, 'closed', message);
  },
  close(message) {
    pending.clear();
    functions.close(message);
  },
};

function hear({ detail }) {
  for (const [word, ...values] of parse(detail)) {
    // Each by itself: a listener of the page may throw.
    try { words[word](...values); } catch (error) { setTimeout(() => { throw error; }, 0); }
  }
}

function rejected({ reason }) {
  let text;
  try {
    text = reason instanceof Error ? String(reason) : 'rejected: ' + String(reason);
  } catch {
    text = 'rejected: a value without text';
  }
  up('error', '', quote(text.slice(0, 1000)));
}

// Listening twice is listening once.
function listen() {
  add('signalbox:down', hear);
  addToWindow('unhandledrejection', rejected);
}

const made = scope.messageHandlers;
const handlers = Object.create(null);
for (const name of settings.handlers) handlers[name] = Object.freeze({ postMessage: made[name].postMessage });
define(scope, 'messageHandlers', Object.freeze(handlers), false);
// Held by the document: what nothing holds the engine lets go and makes anew, with its own names in it.
Object.defineProperty(document, listening, { value: Object.freeze(Object.assign(listen, { scope })) });
listen();
})
