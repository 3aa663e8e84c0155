/// What a test's page has of a browser, in one scope for both of WebKit's worlds, as events alone go between them: a
/// document and a window with listeners, two kinds of events, timers that the test fires, and WebKit's own names,
/// read-only.
enum FakeDocument {
    /// Before relay.js. `native` has `post(text)`, `report(text)`.
    ///
    /// - Parameters:
    ///   - origin: that of the URL.
    ///   - isOpaque: the document has none, as in a sandbox.
    static func before(origin: String, isOpaque: Bool) -> String {
        """
        (function (native) {
        class CustomEvent {
          #detail;
          defaultPrevented = false;
          constructor(type, { detail = null, cancelable = false } = {}) {
            Object.assign(this, { type, cancelable });
            this.#detail = detail;
          }
          get detail() { return this.#detail; }
          preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
        }
        class PromiseRejectionEvent {
          #reason;
          constructor(type, { promise, reason }) {
            Object.assign(this, { type, promise });
            this.#reason = reason;
          }
          get reason() { return this.#reason; }
        }
        const show = (error) => String(error && error.message || error);
        const all = new Map();
        const listeners = (target, type) => {
          if (!all.has(target)) all.set(target, new Map());
          if (!all.get(target).has(type)) all.get(target).set(type, new Set());
          return all.get(target).get(type);
        };
        class EventTarget {
          addEventListener(type, listener) { listeners(this, type).add(listener); }
          dispatchEvent(event) {
            for (const listener of [...listeners(this, event.type)]) {
              try { listener(event); } catch (error) { native.report('a listener threw: ' + show(error)); }
            }
            return !event.defaultPrevented;
          }
        }
        const { addEventListener, dispatchEvent } = EventTarget.prototype;
        const tell = (event) => dispatchEvent.call(globalThis, event);
        const timers = [];
        Object.assign(globalThis, {
          CustomEvent, EventTarget, PromiseRejectionEvent, location: { origin: '\(origin)' },
          origin: '\(isOpaque ? "null" : origin)', document: new EventTarget(),
          addEventListener: addEventListener.bind(globalThis),
          crypto: { getRandomValues: (bytes) => bytes.map(() => Math.floor(Math.random() * 256)) },
          setTimeout(work, delay) { return timers.push({ work, delay }); },
          clearTimeout(id) { if (timers[id - 1]) timers[id - 1].work = undefined; },
          report: (value) => native.report(typeof value === 'string' ? value : JSON.stringify(value)),
          fake: {
            // What is due without waiting, or all.
            fire(isAll) {
              for (let i = 0; i < timers.length; i += 1) {
                const { work, delay } = timers[i];
                if (!work || (delay > 0 && !isAll)) continue;
                timers[i].work = undefined;
                try { work(); } catch (error) { fake.failed(show(error)); }
              }
            },
            failed: (message) =>
              tell({ type: 'error', message, filename: 'https://app.example/a.js?secret=1', lineno: 3, colno: 4 }),
            rejected: (promise, reason) =>
              tell(new PromiseRejectionEvent('unhandledrejection', { promise, reason })),
            openAnew() { all.clear(); },
            comeBack: () => tell({ type: 'pageshow', persisted: true }),
          },
          webkit: { messageHandlers: { signalbox: { postMessage: native.post } } },
        });
        })
        """
    }

    /// Between relay.js and page.js: the page's world has WebKit's own names, which lead past the bridge.
    static func between(isWebKitFixed: Bool) -> String {
        """
        delete globalThis.webkit;
        class WebKitNamespace { get messageHandlers() { return { page: 'raw', user: 'raw' }; } }
        const namespace = new WebKitNamespace();
        Object.defineProperty(globalThis, 'webkit', { get: () => namespace, enumerable: true, configurable: \(!isWebKitFixed) });
        """
    }
}
