// This script is the only link between the page's world and the program. It reaches the page through document events,
// and the program through a handler that exists only in this world. It runs in a private script world, in the top frame
// only, at document start. It evaluates to a function that takes the settings origins, messagesInFlight,
// messagesWaiting, messageUnits and linesPerSecond.
(function (settings) {
'use strict';
// The origins differ if a policy (CSP sandbox) removed the origin, or if the document inherited that of its creator.
const origin = location.origin;
if (globalThis.origin !== origin || !settings.origins.includes(origin)) return;
// This script may run again in the same document after document.open(), which removes the listeners.
const isThere = Object.hasOwn(globalThis, 'signalboxRelay') && signalboxRelay.document === document;
if (isThere) return void signalboxRelay.listen();

// The method is captured from the prototype, because an element of the page named `dispatchEvent` shadows
// `document.dispatchEvent` in this world too (HTML, 3.1.6). On `window`, an element answers only names that neither the
// object nor its prototypes have (7.2.2.3), such as `signalboxRelay`. Changes by scripts of the page do not reach this
// world.
const { addEventListener, dispatchEvent } = EventTarget.prototype;
const port = webkit.messageHandlers.signalbox;
const batchRecords = 256;
const batchUnits = 1024 * 1024;
const longestLine = 8000;
const calling = /^call \d{1,16} \d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?$/;
const answering = /^answer \d{1,16} (returned|threw|invalidReply|full)$/;

// A first-in, first-out queue that frees the items that are taken.
class Queue {
  items = [];
  taken = 0;
  get length() { return this.items.length - this.taken; }
  get first() { return this.items[this.taken]; }
  add(item) { this.items.push(item); }
  take() {
    const item = this.items[this.taken];
    this.items[this.taken++] = undefined;
    if (this.taken * 2 > this.items.length) {
      this.items = this.items.slice(this.taken);
      this.taken = 0;
    }
    return item;
  }
}

let token;
let calls; // Records that need credit.
let others; // Records that need no credit, because each kind has a bound.
let sent; // The total, like the credit.
let credit;
let answers;
let refused = 0;
let isScheduled = false;
let lines = { began: 0, count: 0, withheld: 0, errors: 0 };

// Announces the document. A document that returns from the back/forward cache is announced again, because the program
// treats it as a new one.
function open() {
  token = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  calls = new Queue();
  others = new Queue();
  sent = { messages: 0, units: 0 };
  credit = { messages: 0, units: 0, answers: 0 };
  answers = 0;
  post(['hello\n\n']);
}

function post(records) {
  // Newer engines return a promise.
  Promise.resolve(port.postMessage(token + ' ' + origin + '\n' + records.join('\n'))).catch(() => {});
}

const sendToPage = (pieces) => dispatchEvent.call(document, new CustomEvent('signalbox:down', { detail: pieces }));

function receive(event) {
  const text = event.detail;
  if (typeof text !== 'string' || !text.isWellFormed()) return;
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  if (first < 0 || second < 0 || text.includes('\n', second + 1) || text.includes('\0')) return;
  if (take(text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1))) event.preventDefault();
}

// Accepts a record from the page. Returns whether the record is valid, because a page can forge events.
function take(head, handler, json) {
  const isShort = json.length <= longestLine;
  if (head.length > 100 || handler.length > longestLine) return false;
  if (calling.test(head)) addCall(head, handler, json);
  else if (answering.test(head)) addAnswer(head, json);
  else if (head === 'warn' && isShort) addLine(head, json);
  else if (head === 'error' && isShort) addLine(head, json);
  else return false;
  return true;
}

function addCall(head, handler, json) {
  // Before the first grant, it is unknown how many calls need not wait.
  const free = credit.messages ? credit.messages - sent.messages : settings.messagesInFlight;
  if (calls.length >= settings.messagesWaiting + free) return refuse(+head.split(' ')[1]);
  const units = json.length;
  // This much is enough to identify the message, and the number of units shows that it was truncated.
  if (units > settings.messageUnits) json = json.slice(0, settings.messageUnits / 3).replace(/[\ud800-\udbff]$/, '');
  calls.add({ text: head + ' ' + units + '\n' + handler + '\n' + json, units: json.length });
  schedule();
}

// Refuses a call. A timer is used because a page that retries in a loop must not block the answers of the program.
function refuse(number) {
  refused += 1;
  const why = 'too many messages are waiting in the page';
  setTimeout(() => sendToPage(JSON.stringify([['refuse', number, 'full', why, null, null]])), 0);
  schedule();
}

function addAnswer(head, json) {
  // There is at most one answer for each call of the program.
  if (answers >= credit.answers) return;
  answers += 1;
  const isReply = head.endsWith(' returned');
  if (json.length > (isReply ? settings.messageUnits : longestLine)) {
    head = head.replace(/\w+$/, 'invalidReply');
    json = JSON.stringify('the answer has more than ' + settings.messageUnits + ' bytes');
  }
  others.add({ text: head + '\n\n' + json });
  schedule();
}

function addLine(head, json) {
  const now = Date.now();
  if (now - lines.began >= 1000 || now < lines.began) {
    reportWithheld();
    Object.assign(lines, { began: now, count: 0 });
  }
  if (lines.count >= settings.linesPerSecond) {
    if (!lines.withheld) setTimeout(reportWithheld, 1000);
    lines.withheld += 1;
    if (head === 'error') lines.errors += 1;
    return;
  }
  lines.count += 1;
  others.add({ text: head + '\n\n' + json });
  schedule();
}

function reportWithheld() {
  if (!lines.withheld) return;
  others.add({ text: 'withheld ' + lines.withheld + ' ' + lines.errors + '\n\n' });
  Object.assign(lines, { withheld: 0, errors: 0 });
  schedule();
}

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  Promise.resolve().then(() => {
    isScheduled = false;
    flush();
  });
}

function next() {
  if (others.length) return others.take();
  if (!calls.length || sent.messages >= credit.messages || sent.units + calls.first.units > credit.units) return;
  const call = calls.take();
  sent.messages += 1;
  sent.units += call.units;
  return call;
}

function flush() {
  if (refused) others.add({ text: 'full ' + refused + '\n\n' });
  refused = 0;
  for (;;) {
    const records = [];
    let units = 0;
    while (records.length < batchRecords && units < batchUnits) {
      const record = next();
      if (!record) break;
      records.push(record.text);
      units += record.text.length;
    }
    if (!records.length) return;
    post(records);
  }
}

function failed({ message, filename, lineno, colno }) {
  const position = filename ? ' (' + String(filename).split(/[?#]/)[0] + ':' + lineno + ':' + colno + ')' : '';
  addLine('error', JSON.stringify((String(message).slice(0, 1000) + position.slice(0, 1000)).toWellFormed()));
}

function restored({ persisted }) {
  if (!persisted) return;
  sendToPage('[["lost","the page was left and restored"]]');
  open();
}

// Adds the listeners. A listener that was already added is not added twice.
function listen() {
  addEventListener.call(document, 'signalbox:up', receive);
  addEventListener.call(globalThis, 'error', failed);
  addEventListener.call(globalThis, 'pageshow', restored);
}

// The program evaluates calls of this function with the token of the document, its total credit, and records for the
// page.
const relay = function (to, messages, units, answers, pieces) {
  if (to !== token) return;
  listen();
  credit = { messages, units, answers };
  if (pieces !== '[]') sendToPage(pieces);
  flush();
};
Object.defineProperty(globalThis, 'signalboxRelay', { value: Object.assign(relay, { document, listen }), configurable: true });
listen();
open();
})
