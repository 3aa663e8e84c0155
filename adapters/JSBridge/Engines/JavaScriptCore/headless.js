// The globals of a page without a browser, which are timers, `queueMicrotask` and `console`. This script is evaluated
// before bridge.js, to a function that the engine calls once with its native functions:
//   native.schedule(id, delay in ms), native.cancel(id), native.log(level, text), native.failed(text), native.timerLimit
(function (native) {
  'use strict';
  // These are captured once, because a page may change its globals and prototypes later.
  const { stringify } = JSON;
  const { min, max } = Math;
  const { Error, Number, RangeError, String, TypeError } = globalThis;
  const { then } = Promise.prototype;
  const { apply } = Reflect;
  // Turns a method into a function whose first argument is the receiver.
  const method = Function.prototype.bind.bind(Function.prototype.call);
  const indexOf = method(String.prototype.indexOf);
  const slice = method(String.prototype.slice);
  const execute = method(RegExp.prototype.exec);
  // `instanceof` calls a method that a page may override.
  const isInstance = method(Function.prototype[Symbol.hasInstance]);
  const resolved = Promise.resolve();
  // `then` must create a built-in promise, so the species lookup finds nothing here.
  Object.defineProperty(resolved, 'constructor', { __proto__: null, value: undefined });
  const longest = 2 ** 31 - 1;
  // Copies the methods of the prototype onto the object, so that later changes to the prototype do not reach it.
  const timers = Object.defineProperties(new Map(), Object.getOwnPropertyDescriptors(Map.prototype));
  let lastTimer = 0;
  let counted = 0;

  function start(callback, delay, values, repeats, isCounted) {
    if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
    if (isCounted && counted >= native.timerLimit) {
      throw new RangeError('a page can have at most ' + native.timerLimit + ' timers at once');
    }
    const wait = min(max(Number(delay) || 0, repeats ? 1 : 0), longest);
    const id = ++lastTimer;
    timers.set(id, { callback, values, repeats, isCounted, wait });
    if (isCounted) counted += 1;
    native.schedule(id, wait);
    return id;
  }

  function stop(handle) {
    const id = Number(handle);
    const timer = timers.get(id);
    if (!timer) return;
    timers.delete(id);
    if (timer.isCounted) counted -= 1;
    native.cancel(id);
  }

  // Runs a timer that is due.
  function fire(id) {
    const { callback, values, repeats, wait } = timers.get(id);
    if (repeats) native.schedule(id, wait);
    else stop(id);
    apply(callback, undefined, values);
  }

  // Replaces `split`, which looks up `String.prototype[Symbol.split]` in each call.
  function forEachLine(text, visit) {
    for (let start = 0, end; start <= text.length; start = end + 1) {
      end = indexOf(text, '\n', start);
      if (end < 0) end = text.length;
      visit(slice(text, start, end));
    }
  }

  // Returns the location of an error. Frames of the bridge are skipped, because an error that the bridge throws belongs
  // to the script of the page that called it.
  function locationOf(error) {
    const isOurs = (text) => indexOf(text, 'signalbox:') >= 0;
    let frame;
    forEachLine(String(error.stack), (line) => {
      if (frame === undefined && execute(/:\d+:\d+$/, line) && !isOurs(line)) frame = line;
    });
    if (frame !== undefined) return slice(frame, indexOf(frame, '@') + 1) + ': ';
    return error.sourceURL && !isOurs(error.sourceURL) ? error.sourceURL + ':' + error.line + ': ' : '';
  }

  // Returns the text of a thrown value, after its location if it has one. Reading the value may itself throw.
  function describe(thrown) {
    try {
      return isInstance(Error, thrown) ? locationOf(thrown) + thrown : 'thrown: ' + shown(thrown);
    } catch {
      return 'thrown: a value without text';
    }
  }

  function shown(value) {
    if (typeof value === 'string') return value;
    try {
      if (isInstance(Error, value)) return value + stackOf(value);
      return (typeof value === 'object' && stringify(value)) || String(value);
    } catch {
      return '[a value without text]';
    }
  }

  function stackOf(error) {
    if (!error.stack) return '';
    let frames;
    forEachLine(String(error.stack), (line) => { frames = frames === undefined ? line : frames + ', ' + line; });
    return ' (' + frames + ')';
  }

  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { __proto__: null, value, configurable: true, writable: true });
  const console = {};
  for (const level of ['debug', 'log', 'info', 'warn', 'error']) {
    console[level] = (...values) => {
      let text = '';
      for (let index = 0; index < values.length; index += 1) text += (index ? ' ' : '') + shown(values[index]);
      native.log(level, text);
    };
  }
  define('console', console);
  define('setTimeout', (callback, delay, ...values) => start(callback, delay, values, false, true));
  define('setInterval', (callback, delay, ...values) => start(callback, delay, values, true, true));
  define('clearTimeout', stop);
  define('clearInterval', stop);
  define('queueMicrotask', (callback) => {
    if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
    apply(then, resolved, [() => void callback()]);
  });
  // A page has one thread, so a wait would never end. Nothing can interrupt such a wait, or a WebAssembly loop.
  delete Atomics.wait;
  delete globalThis.WebAssembly;

  return {
    fire,
    describe,
    rejected: (_, reason) => native.failed(describe(reason)),
    // These are for the bridge, because the timeout of a call does not count as a timer of the page.
    setTimeout: (callback, delay) => start(callback, delay, [], false, false),
    clearTimeout: stop,
  };
})
