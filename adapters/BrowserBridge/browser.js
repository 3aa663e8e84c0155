// Connects bridge.js to the program: a WebSocket to the server in this script's `src`.
// The first line of a message from the page is its kind, and the lines after it are JSON:
//   call NUMBER TIMEOUT [HANDLER as JSON]   large NUMBER   answer NUMBER KIND   title
// The program's messages are:
//   reply NUMBER   refuse NUMBER   message NUMBER ACTION, whose second line is the id or empty
//   accepted, whose second line is the number, so that earlier versions of this script ignore it
(function (settings, bridge) {
'use strict';
const { defineProperties, getOwnPropertyDescriptor, getOwnPropertyDescriptors, getPrototypeOf, hasOwn } = Object;
// An element with this id is also visible as `globalThis.signalbox`, but it is not an own property.
if (hasOwn(globalThis, 'signalbox')) return;
// Read once, because a page may change its globals and prototypes later. Members are taken from the prototypes, because
// a named element shadows any member of `document` (HTML, 3.1.6). On `window`, named elements shadow only names that
// neither the object nor its prototypes have (7.2.2.3), such as `signalbox`, `webkit` and `then`.
const { CloseEvent, Document, Element, EventTarget, History, HTMLScriptElement, MessageEvent, MutationObserver } = globalThis;
const { RegExp, Storage, String, TextEncoder, Uint8Array, URL, WebSocket } = globalThis;
const { console, document, history, location, performance } = globalThis;
const { stringify, parse } = JSON;
const { min, ceil, random } = Math;
const { iterator } = Symbol;
const { bind, call } = Function.prototype;
// Turns a method into a function whose first argument is the receiver.
const method = bind.bind(call);
const getter = (type, name) => method(getOwnPropertyDescriptor(type.prototype, name).get);
const listen = method(EventTarget.prototype.addEventListener);
const send = method(WebSocket.prototype.send);
const replaceState = method(History.prototype.replaceState);
const stateOf = getter(History, 'state');
const getItem = method(Storage.prototype.getItem);
const setItem = method(Storage.prototype.setItem);
const titleOf = getter(Document, 'title');
const dataOf = getter(MessageEvent, 'data');
const codeOf = getter(CloseEvent, 'code');
const lengthOf = getter(getPrototypeOf(Uint8Array), 'length');
const codePointAt = method(String.prototype.codePointAt);
const indexOf = method(String.prototype.indexOf);
const slice = method(String.prototype.slice);
const execute = method(RegExp.prototype.exec);
const setTimeout = globalThis.setTimeout.bind(globalThis);
const clearTimeout = globalThis.clearTimeout.bind(globalThis);
const now = performance.now.bind(performance);
const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
const log = console.warn.bind(console);
const warn = (text) => log('signalbox: ' + text);
// Copies the prototype's methods onto the object, so that later changes to the prototype do not reach it.
const fixed = (made) => defineProperties(made, getOwnPropertyDescriptors(getPrototypeOf(made)));
// A framed page cannot tell which site embeds it, so it may not connect.
const isFramed = globalThis.top !== globalThis;
const endpoint = findServer();
const storageKey = 'signalbox:' + endpoint;
const storage = openStorage();

// Calls that have not been sent yet, as a linked list of { number, head, isWhole, name, json, since, due, next }.
let first, final;
let waiting = 0;
// The numbers of calls that have no outcome yet.
const pending = fixed(new Set());
// The numbers of calls that the program has accepted, and whose outcome follows.
const accepted = fixed(new Set());
// Calls from the program that the page has not answered yet. Each belongs to one connection.
const unanswered = fixed(new Map());
let lastQuestion = 0;
const refused = fixed(new Set());
let token;
let socket;
let isOpen = false;
let hasEnded = false;
let openedAt = 0;
let failures = 0;
let reconnecting;
let expiring;
let sentTitle;
let hasWarned = false;

// Resolves the script's `src` against the page's URL. It ignores `<base>`, because injected markup could use that to
// redirect the token. A module has no `currentScript`, and an inline script has no `src`.
function findServer() {
  const script = getter(Document, 'currentScript')(document);
  const source = script instanceof HTMLScriptElement ? method(Element.prototype.getAttribute)(script, 'src') : null;
  if (source === null || isFramed) return undefined;
  try {
    const server = new URL(settings.path, new URL(source, location.href));
    const scheme = { __proto__: null, 'http:': 'ws:', 'https:': 'wss:' }[server.protocol];
    return scheme && scheme + '//' + server.host + server.pathname;
  } catch { return undefined; }
}

// If the browser blocks storage, the getter throws.
function openStorage() {
  try { return globalThis.sessionStorage; } catch { return undefined; }
}

// Removes every token from the address, used or not, because scripts and the browser's history can read the address.
function cutFromAddress() {
  let { hash } = location, found, cut;
  while ((found = execute(/(?:^#|&)signalbox=([\w-]+)(?=&|$)/, hash))) {
    cut ??= found[1];
    const before = slice(hash, 0, found.index), after = slice(hash, found.index + found[0].length);
    hash = before || !after ? before + after : '#' + slice(after, 1);
  }
  const { href } = location;
  if (cut) replaceState(history, stateOf(history), '', slice(href, 0, indexOf(href, '#')) + hash);
  return cut;
}

// Returns whether the address contained a token.
function takeToken() {
  const cut = cutFromAddress();
  if (!endpoint) return false;
  token = cut ?? token;
  try {
    if (cut) setItem(storage, storageKey, cut);
    else token ??= getItem(storage, storageKey) ?? undefined;
  } catch { /* Without storage the token lasts as long as the document. */ }
  return !!cut;
}

// MARK: The connection

function connect() {
  clearTimeout(reconnecting);
  if (socket || hasEnded || isFramed || !token || !endpoint) return;
  let current;
  try {
    current = new WebSocket(endpoint, both('signalbox', 'signalbox.bearer.' + token));
  } catch (error) {
    if (!hasWarned) log('signalbox: the browser refused to connect to the program:', error);
    hasWarned = true;
    return lost(1006);
  }
  socket = current;
  listen(current, 'open', opened);
  listen(current, 'message', (event) => received(current, dataOf(event)));
  listen(current, 'close', (event) => lost(codeOf(event)));
}

// Returns an iterable of the two strings that does not depend on `Array.prototype`.
function both(one, other) {
  return {
    __proto__: null,
    [iterator]() {
      let taken = 0;
      return { __proto__: null, next: () => ({ done: ++taken > 2, value: taken === 1 ? one : other }) };
    },
  };
}

function opened() {
  isOpen = true;
  openedAt = now();
  clearTimeout(expiring);
  expiring = undefined;
  sentTitle = undefined;
  try { sendTitle(); } finally { pump(); }
}

function lost(code) {
  if (isOpen && now() - openedAt > settings.lasting) failures = 0;
  socket = undefined;
  isOpen = false;
  unanswered.clear();
  // 1000 means that the program closed the page. 1001 means that the program is stopping and has sent all outcomes.
  if (code === 1000) return end();
  pending.forEach((number) => {
    pending.delete(number);
    if (code === 1001) refuse(number, 'drain', 'the program abandoned the message: drain', undefined, 'abandoned');
    else refuse(number, 'closed', 'the connection to the program was lost');
  });
  accepted.forEach((number) => {
    accepted.delete(number);
    refuse(number, 'closed', 'the connection to the program was lost; it keeps the message');
  });
  reconnecting = setTimeout(connect, random() * min(settings.longestWait, settings.firstWait * 2 ** failures));
  failures += 1;
  expire();
}

function end() {
  hasEnded = true;
  pending.clear();
  accepted.clear();
  first = final = undefined;
  waiting = 0;
  page.close('the program closed the page');
}

function retry() {
  if (socket) return;
  failures = 0;
  connect();
}

// MARK: Calls of the page

const isLarge = (text) =>
  text.length > settings.limit || (text.length * 3 > settings.limit && lengthOf(encode(text)) > settings.limit);

function post(handler, json, number, timeout) {
  if (waiting + pending.size >= settings.waiting) return refuseSoon(number);
  const isWhole = !isLarge(json);
  const head = (isWhole ? 'call ' : 'large ') + number;
  if (!isWhole) json = slice(json, 0, settings.limit / 3);
  const since = now();
  // No action has a longer name.
  const name = handler === null ? '' : ' ' + stringify(slice(handler, 0, 100));
  const call = { number, head, isWhole, name, json, since, due: timeout && since + timeout, next: undefined };
  if (final) final.next = call;
  else first = call;
  final = call;
  waiting += 1;
  if (isOpen) pump();
  else expire();
}

function takeFirst() {
  const call = first;
  first = call.next;
  if (!first) final = undefined;
  waiting -= 1;
  return call;
}

// If rejecting one call throws, the calls behind it must still be processed and the timer must still be set.
function refuse(number, code, message, path, outcome) {
  try {
    page.refuse(number, code, message, path, outcome);
  } catch (error) {
    setTimeout(() => { throw error; }, 0);
  }
}

// Uses a timer, so that a page calling again immediately does not block its own thread.
function refuseSoon(number) {
  refused.add(number);
  if (refused.size > 1) return;
  setTimeout(() => refused.forEach((number) => {
    refused.delete(number);
    refuse(number, 'full', settings.waiting + ' calls are waiting for the program: the limit is reached');
  }), 0);
}

// Sends only as much as the program reads, so that answers to the program's calls get through in between.
function pump() {
  while (isOpen && first && pending.size < settings.inFlight) {
    const { number, head, isWhole, name, json, due } = takeFirst();
    const left = due && ceil(due - now());
    if (due && left <= 0) {
      refuse(number, 'timeout', 'no connection to the program, or no room in it, within the timeout');
      continue;
    }
    pending.add(number);
    const line = isWhole ? head + ' ' + min(left, 1e12) + name : head;
    send(socket, line + '\n' + json);
  }
}

// Limits how long a call waits for a connection.
function expire() {
  if (isOpen || expiring !== undefined) return;
  while (first) {
    const left = first.since + settings.connectionTimeout - now();
    if (left > 0) {
      expiring = setTimeout(() => {
        expiring = undefined;
        expire();
      }, left);
      return;
    }
    refuse(takeFirst().number, 'closed', problem());
  }
}

function problem() {
  if (isFramed) return 'a page in a frame cannot connect to the program';
  if (!endpoint) {
    return 'load the bridge with <script src="\u2026/signalbox.js">; an inline script or a module does not work';
  }
  if (!token) return 'open the page with the address that the program prints: the token is missing';
  return 'there is no connection to the program';
}

// MARK: The program's messages

// Replaces `split`, which looks up `String.prototype[Symbol.split]` on every call.
function wordAt(line, start) {
  const end = indexOf(line, ' ', start);
  return slice(line, start, end < 0 ? line.length : end);
}

function received(from, text) {
  const end = indexOf(text, '\n');
  const line = end < 0 ? text : slice(text, 0, end);
  const rest = end < 0 ? undefined : slice(text, end + 1);
  const kind = wordAt(line, 0), digits = wordAt(line, kind.length + 1), number = +digits;
  if (kind === 'message') return deliver(from, number, wordAt(line, kind.length + digits.length + 2), rest);
  if (kind === 'accepted') return accept(+rest);
  if (!pending.delete(number) && !accepted.delete(number)) return;
  if (kind === 'reply') {
    page.reply(number, rest);
  } else {
    const why = parse(rest);
    refuse(number, why[0], why[1], why[2], why[3]);
  }
  pump();
}

// Makes room for the next call, because the outcome may come much later.
function accept(number) {
  if (!pending.delete(number)) return;
  accepted.add(number);
  page.accepted(number);
  pump();
}

function deliver(from, number, action, rest) {
  const end = indexOf(rest, '\n');
  const id = end > 0 ? parse(slice(rest, 0, end)) : null;
  let question = 0;
  if (number) {
    question = ++lastQuestion;
    unanswered.set(question, { from, number });
  }
  page.receive(action, id, slice(rest, end + 1), question);
}

function answer(question, kind, text) {
  const found = unanswered.get(question);
  unanswered.delete(question);
  // Other connections do not know this number.
  if (!found || found.from !== socket || !isOpen) return;
  let json = kind === 'returned' || text === undefined ? text : stringify(text);
  if (json !== undefined && isLarge(json)) {
    kind = 'invalidReply';
    json = stringify('the answer has more than ' + settings.limit + ' bytes');
  }
  send(socket, 'answer ' + found.number + ' ' + kind + (json === undefined ? '' : '\n' + json));
}

function sendTitle() {
  const title = titleOf(document);
  if (!isOpen || title === sentTitle) return;
  sentTitle = title;
  let end = 0;
  // Cut the title between code points, because half of a surrogate pair is not well-formed text.
  for (let count = 0; count < 500 && end < title.length; count += 1) end += codePointAt(title, end) > 0xffff ? 2 : 1;
  send(socket, 'title\n' + stringify(slice(title, 0, end)));
}

const page = bridge({
  __proto__: null,
  messagesWithoutListener: settings.withoutListener,
  post,
  answer,
  warn,
});
if (!isFramed) {
  takeToken();
  if (!endpoint) warn(problem());
  const changes = { __proto__: null, subtree: true, childList: true, characterData: true };
  new MutationObserver(sendTitle).observe(getter(Document, 'head')(document) ?? document, changes);
  listen(globalThis, 'hashchange', () => takeToken() && retry());
  listen(globalThis, 'online', retry);
  listen(globalThis, 'pageshow', retry);
  connect();
}
})
