// Plugins for Signalbox in Node.js 18 or later: one file, no dependencies. Copy it next to your program.
//
//     import { on, run } from './signalbox.mjs';
//
//     on('order', { item: 'string', count: 'integer?' }, async (body, context) => ({ accepted: body.item }));
//     run();
//
// A configuration starts the program with `use: process` and `command: [node, ./orders.mjs]`, once for all of its actions.
// What the function returns is the reply. A body that does not have the given shape is declined with the path of the
// member. What the program logs goes to stderr, and Signalbox logs it.

import { Console } from 'node:console';

/** Throw this if the same call may succeed later. Signalbox calls again if the plugin has `retry`. */
export class Retry extends Error {}

/** Throw this to decline a body. `path` names the member, such as `body.items[0].price`. */
export class Invalid extends Error {
  constructor(path, message) {
    super(message);
    this.path = path;
  }
}

const handlers = new Map();
const running = new Map();

/**
 * Registers a function for an action.
 *
 * @param action The action's name.
 * @param shape What the body must be, or leave it out: 'string', 'number', 'integer', 'boolean', 'any'; a list with the
 *   shape of its elements; or an object with the shapes of its members. A text with '?' at its end is optional.
 * @param handler Receives the body and the context: `action`, `id`, `origin`, `receivedAt`, `attempt`, `redelivered`,
 *   `bodyKind`, and `signal`, an AbortSignal for when nobody waits for the call any more. Returns the reply, or a promise.
 */
export function on(action, shape, handler) {
  handlers.set(action, handler ? { shape, handler } : { shape: 'any', handler: shape });
}

/** Sends an action without being asked. It comes from the source `internal`, which the plugin's `from` must name. */
export function send(action, body = null, id = undefined) {
  write({ send: { action, body, id } });
}

/** Serves calls until Signalbox ends the program. */
export function run() {
  // What the program logs must not get between the lines.
  globalThis.console = new Console(process.stderr, process.stderr);
  write({ ready: true });
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
}

function take(call) {
  if (call.id !== undefined) serve(call);
  else if (call.ping !== undefined) write({ pong: call.ping });
  else running.get(call.cancel)?.abort();
}

async function serve(call) {
  const entry = handlers.get(call.action);
  const abort = new AbortController();
  running.set(call.id, abort);
  try {
    if (!entry) throw new Error(`the program has no function for the action '${call.action}'`);
    check(call.body, entry.shape, 'body');
    const reply = await entry.handler(call.body, context(call, abort.signal));
    write({ id: call.id, reply: reply ?? null });
  } catch (error) {
    if (!(error instanceof Retry || error instanceof Invalid)) console.error(error);
    const message = error instanceof Error ? error.message : String(error);
    write({ id: call.id, error: { message, path: error?.path, retryable: error instanceof Retry } });
  } finally {
    running.delete(call.id);
  }
}

function context(call, signal) {
  const { action, actionID, origin, receivedAt, attempt, redelivered = false, bodyKind = 'json' } = call;
  return { action, id: actionID, origin, receivedAt, attempt, redelivered, bodyKind, signal };
}

// Lines of one turn of the event loop are written together.
let waiting = '';

function write(line) {
  if (waiting === '') setImmediate(flush);
  waiting += JSON.stringify(line) + '\n';
}

function flush() {
  process.stdout.write(waiting);
  waiting = '';
}

const kinds = {
  any: () => true,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
};

function check(value, shape, path) {
  if (typeof shape === 'string') {
    if (shape.endsWith('?')) {
      if (value === undefined || value === null) return;
      shape = shape.slice(0, -1);
    }
    if (value === undefined) throw new Invalid(path, 'is missing');
    if (!kinds[shape](value)) throw new Invalid(path, `expected ${shape}`);
  } else if (Array.isArray(shape)) {
    if (!Array.isArray(value)) throw new Invalid(path, 'expected a list');
    value.forEach((element, index) => check(element, shape[0], `${path}[${index}]`));
  } else {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject) throw new Invalid(path, 'expected an object');
    for (const name of Object.keys(shape)) {
      check(Object.hasOwn(value, name) ? value[name] : undefined, shape[name], `${path}.${name}`);
    }
  }
}
