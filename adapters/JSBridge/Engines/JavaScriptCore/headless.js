// What a page without a browser needs beside the language: timers, `queueMicrotask`, `console`. Evaluated before bridge.js
// to a function that the engine calls once with its natives:
//   native.schedule(id, delay in ms), native.cancel(id), native.log(level, text), native.failed(text), native.timerLimit
(function (native) {
  'use strict';
  // Taken now, as a page may change its globals.
  const { stringify } = JSON;
  const { min, max } = Math;
  const toNumber = Number;
  const resolved = Promise.resolve();
  const longest = 2 ** 31 - 1;
  const timers = new Map();
  let lastTimer = 0;
  let counted = 0;

  function start(callback, delay, values, repeats, isCounted) {
    if (typeof callback !== 'function') throw new TypeError('a timer calls a function');
    if (isCounted && counted >= native.timerLimit) {
      throw new RangeError('a page has at most ' + native.timerLimit + ' timers at once');
    }
    const wait = min(max(toNumber(delay) || 0, repeats ? 1 : 0), longest);
    const id = ++lastTimer;
    timers.set(id, { callback, values, repeats, isCounted, wait });
    if (isCounted) counted += 1;
    native.schedule(id, wait);
    return id;
  }

  function stop(handle) {
    const id = toNumber(handle);
    const timer = timers.get(id);
    if (!timer) return;
    timers.delete(id);
    if (timer.isCounted) counted -= 1;
    native.cancel(id);
  }

  // Called when a timer is due.
  function fire(id) {
    const { callback, values, repeats, wait } = timers.get(id);
    if (repeats) native.schedule(id, wait);
    else stop(id);
    callback(...values);
  }

  // An error that our own functions made is the page's that called them.
  function place(error) {
    const isOurs = (text) => text.includes('signalbox:');
    const frame = String(error.stack).split('\n').find((line) => /:\d+:\d+$/.test(line) && !isOurs(line));
    if (frame) return frame.slice(frame.indexOf('@') + 1) + ': ';
    return error.sourceURL && !isOurs(error.sourceURL) ? error.sourceURL + ':' + error.line + ': ' : '';
  }

  // What was thrown, with its place where it has one. It may be anything, also something that throws when looked at.
  function describe(thrown) {
    try {
      return thrown instanceof Error ? place(thrown) + thrown : 'thrown: ' + shown(thrown);
    } catch {
      return 'thrown: a value without text';
    }
  }

  function shown(value) {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof Error) {
        return value + (value.stack ? ' (' + String(value.stack).replaceAll('\n', ', ') + ')' : '');
      }
      return (typeof value === 'object' && stringify(value)) || String(value);
    } catch {
      return '[a value without text]';
    }
  }

  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  const console = {};
  for (const level of ['debug', 'log', 'info', 'warn', 'error']) {
    console[level] = (...values) => native.log(level, values.map(shown).join(' '));
  }
  define('console', console);
  define('setTimeout', (callback, delay, ...values) => start(callback, delay, values, false, true));
  define('setInterval', (callback, delay, ...values) => start(callback, delay, values, true, true));
  define('clearTimeout', stop);
  define('clearInterval', stop);
  define('queueMicrotask', (callback) => {
    if (typeof callback !== 'function') throw new TypeError('queueMicrotask calls a function');
    resolved.then(() => void callback());
  });
  // A page has one thread: waiting for another would last for ever, and could not be ended. Nor could WebAssembly's loops.
  delete Atomics.wait;
  delete globalThis.WebAssembly;

  return {
    fire,
    describe,
    rejected: (_, reason) => native.failed(describe(reason)),
    // For the bridge: a call's timeout is not one of the page's timers.
    setTimeout: (callback, delay) => start(callback, delay, [], false, false),
    clearTimeout: stop,
  };
})
