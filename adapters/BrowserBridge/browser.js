// The way from a page in a browser to the program: a WebSocket to the server that this script came from, for bridge.js.
// The page's first line of a message says what it is, the lines behind it are JSON:
//   call NUMBER TIMEOUT [HANDLER as JSON]   large NUMBER   answer NUMBER KIND   title
// and the program's are:
//   reply NUMBER   refuse NUMBER   message NUMBER ACTION, whose second line is the id or empty
(function (settings, bridge) {
'use strict';
if (globalThis.signalbox) return;
// Taken now, as a page may change its globals.
const { WebSocket, setTimeout, clearTimeout, sessionStorage } = openStorage(globalThis);
const { stringify, parse } = JSON;
const { min, random } = Math;
const now = performance.now.bind(performance);
const encoder = new TextEncoder();
const place = new URL(settings.path, document.currentScript.src);
place.protocol = place.protocol.replace('http', 'ws');
const storageKey = 'signalbox:' + place;
// A frame's page does not see who surrounds it: it gets no connection.
const isFramed = globalThis.top !== globalThis;

// Calls that wait to be sent, { number, head, name, json, since, due }, from `first` on; and the numbers of those that wait
// for their outcome.
let waiting = [];
let first = 0;
const flying = new Set();
// Calls of the program that wait for the page's answer: each of one connection.
const asked = new Map();
let lastAsked = 0;
let refused = [];
let token;
let socket;
let isOpen = false;
let hasEnded = false;
let openedAt = 0;
let failures = 0;
let reconnecting;
let expiring;
let toldTitle;

function openStorage(window) {
  const { WebSocket, setTimeout, clearTimeout } = window;
  const bound = { WebSocket, setTimeout: setTimeout.bind(window), clearTimeout: clearTimeout.bind(window) };
  // A browser that keeps nothing for the page throws.
  try { return { ...bound, sessionStorage: window.sessionStorage }; } catch { return bound; }
}

// The token is in the URL once: neither the history nor who reads the address sees it afterwards.
function takeToken() {
  const parts = location.hash.slice(1).split('&');
  const found = parts.find((part) => /^signalbox=[\w-]+$/.test(part));
  if (found) {
    const rest = parts.filter((part) => part !== found).join('&');
    history.replaceState(history.state, '', location.href.split('#')[0] + (rest && '#' + rest));
    token = found.slice('signalbox='.length);
    try { sessionStorage.setItem(storageKey, token); } catch { /* It lasts until the page goes. */ }
    return true;
  }
  try { token ??= sessionStorage.getItem(storageKey) ?? undefined; } catch { /* There is none. */ }
  return false;
}

// MARK: The connection

function connect() {
  clearTimeout(reconnecting);
  if (socket || hasEnded || isFramed || !token) return;
  const current = new WebSocket(place, ['signalbox', 'signalbox.bearer.' + token]);
  socket = current;
  current.onopen = () => opened();
  current.onmessage = ({ data }) => received(current, data);
  current.onclose = ({ code }) => lost(code);
}

function opened() {
  isOpen = true;
  openedAt = now();
  clearTimeout(expiring);
  expiring = undefined;
  toldTitle = undefined;
  tellTitle();
  pump();
}

function lost(code) {
  if (isOpen && now() - openedAt > settings.lasting) failures = 0;
  socket = undefined;
  isOpen = false;
  asked.clear();
  const numbers = [...flying];
  flying.clear();
  // 1000 comes when the program closed the page, 1001 when it stops: then all that it took has had its outcome.
  if (code === 1000) return end();
  for (const number of numbers) {
    if (code === 1001) page.refuse(number, 'drain', 'the program let go of the message: drain', undefined, 'abandoned');
    else page.refuse(number, 'closed', 'the connection to the program is lost');
  }
  reconnecting = setTimeout(connect, random() * min(settings.longestWait, settings.firstWait * 2 ** failures));
  failures += 1;
  expire();
}

function end() {
  hasEnded = true;
  waiting = [];
  first = 0;
  page.close('the program closed the page');
}

function retry() {
  if (socket) return;
  failures = 0;
  connect();
}

// MARK: Calls of the page

const isLarge = (text) =>
  text.length > settings.limit || (text.length * 3 > settings.limit && encoder.encode(text).length > settings.limit);

function post(handler, json, number, timeout) {
  if (waiting.length - first + flying.size >= settings.waiting) return refuseSoon(number);
  let head = 'call ' + number;
  if (isLarge(json)) {
    head = 'large ' + number;
    json = json.slice(0, settings.limit / 3);
  }
  const since = now();
  // A longer name names no action either.
  const name = handler === null ? '' : ' ' + stringify(handler.slice(0, 100));
  waiting.push({ number, head, name, json, since, due: timeout && since + timeout });
  if (isOpen) pump();
  else expire();
}

// Taken from the front without moving what is behind it each time.
function takeFirst() {
  const call = waiting[first];
  waiting[first] = undefined;
  first += 1;
  if (first === waiting.length || (first >= 1024 && first * 2 >= waiting.length)) {
    waiting = waiting.slice(first);
    first = 0;
  }
  return call;
}

// By a timer: one that tries for ever must not hold its thread.
function refuseSoon(number) {
  refused.push(number);
  if (refused.length > 1) return;
  setTimeout(() => {
    const numbers = refused;
    refused = [];
    for (const number of numbers) {
      page.refuse(number, 'full', settings.waiting + ' calls wait for the program, as many as may');
    }
  }, 0);
}

// Not more than the program reads: so what it asks the page is answered in between.
function pump() {
  while (isOpen && first < waiting.length && flying.size < settings.inFlight) {
    const { number, head, name, json, due } = takeFirst();
    const left = due && Math.ceil(due - now());
    if (due && left <= 0) {
      page.refuse(number, 'timeout', 'no connection to the program, or no room there, in time');
      continue;
    }
    flying.add(number);
    const line = head.startsWith('large') ? head : head + ' ' + min(left, 1e12) + name;
    socket.send(line + '\n' + json);
  }
}

// While there is no connection a call waits so long and no longer.
function expire() {
  if (isOpen || expiring !== undefined) return;
  while (first < waiting.length) {
    const left = waiting[first].since + settings.patience - now();
    if (left > 0) {
      expiring = setTimeout(() => {
        expiring = undefined;
        expire();
      }, left);
      return;
    }
    page.refuse(takeFirst().number, 'closed', trouble());
  }
}

function trouble() {
  if (isFramed) return 'a page in a frame gets no connection to the program';
  if (!token) return 'open the page by the address that the program tells: its token is missing';
  return 'there is no connection to the program';
}

// MARK: The program's messages

function received(from, text) {
  const end = text.indexOf('\n');
  const [kind, digits, action] = (end < 0 ? text : text.slice(0, end)).split(' ');
  const rest = end < 0 ? undefined : text.slice(end + 1);
  const number = +digits;
  if (kind === 'message') return deliver(from, number, action, rest);
  if (!flying.delete(number)) return;
  if (kind === 'reply') {
    page.reply(number, rest);
  } else {
    const [code, message, path, outcome] = parse(rest);
    page.refuse(number, code, message, path, outcome);
  }
  pump();
}

function deliver(from, number, action, rest) {
  const end = rest.indexOf('\n');
  const id = end > 0 ? parse(rest.slice(0, end)) : null;
  let question = 0;
  if (number) {
    question = ++lastAsked;
    asked.set(question, { from, number });
  }
  page.receive(action, id, rest.slice(end + 1), question);
}

function answer(question, kind, text) {
  const found = asked.get(question);
  asked.delete(question);
  // Another connection knows nothing of it.
  if (!found || found.from !== socket || !isOpen) return;
  let json = kind === 'returned' || text === undefined ? text : stringify(text);
  if (json !== undefined && isLarge(json)) {
    kind = 'invalidReply';
    json = stringify('the answer has more than ' + settings.limit + ' bytes');
  }
  socket.send('answer ' + found.number + ' ' + kind + (json === undefined ? '' : '\n' + json));
}

function tellTitle() {
  const { title } = document;
  if (!isOpen || title === toldTitle) return;
  toldTitle = title;
  // By characters, as half of one has no form in JSON.
  socket.send('title\n' + stringify([...title.slice(0, 2000)].slice(0, 500).join('')));
}

const page = bridge({
  messagesWithoutListener: settings.withoutListener,
  post,
  answer,
  warn: (text) => console.warn('signalbox: ' + text),
});
if (!isFramed) {
  takeToken();
  new MutationObserver(tellTitle).observe(document.head, { subtree: true, childList: true, characterData: true });
  addEventListener('hashchange', () => takeToken() && retry());
  addEventListener('online', retry);
  addEventListener('pageshow', retry);
  connect();
}
})
