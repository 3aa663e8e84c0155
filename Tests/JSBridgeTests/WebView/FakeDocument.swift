/// What a test's page has of a browser, in one scope for both of WebKit's worlds, as events alone go between them: a
/// document and a window with listeners, `CustomEvent`, timers that the test fires, and WebKit's own names, read-only.
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
          defaultPrevented = false;
          constructor(type, { detail = null, cancelable = false } = {}) { Object.assign(this, { type, detail, cancelable }); }
          preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
        }
        const show = (error) => String(error && error.message || error);
        const make = () => {
          const all = new Map();
          return {
            addEventListener(type, listener) { all.set(type, (all.get(type) || new Set()).add(listener)); },
            removeAll() { all.clear(); },
            dispatchEvent(event) {
              for (const listener of [...all.get(event.type) || []]) {
                try { listener(event); } catch (error) { native.report('a listener threw: ' + show(error)); }
              }
              return !event.defaultPrevented;
            },
          };
        };
        const view = make();
        const timers = [];
        Object.assign(globalThis, {
          CustomEvent, location: { origin: '\(origin)' }, origin: '\(isOpaque ? "null" : origin)',
          document: make(), addEventListener: view.addEventListener,
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
              view.dispatchEvent({ type: 'error', message, filename: 'https://app.example/a.js?secret=1', lineno: 3, colno: 4 }),
            rejected: (promise, reason) => view.dispatchEvent({ type: 'unhandledrejection', reason }),
            openAnew() { document.removeAll(); view.removeAll(); },
            comeBack: () => view.dispatchEvent({ type: 'pageshow', persisted: true }),
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
