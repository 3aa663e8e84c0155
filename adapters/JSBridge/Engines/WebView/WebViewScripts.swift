import SignalboxCore
import SignalboxRoutes

/// What a web view injects, and where. Nothing of it comes from outside the library but names, origins and numbers.
struct WebViewScripts: Sendable {
    /// The name of the private script world.
    static let world = "signalbox"
    /// The handler of the private world: the only one there is in it.
    static let handler = "signalbox"

    /// At document start, main frame only, in the private world, for ``patterns`` where the engine takes such; it looks at
    /// the origin itself, too.
    let relay: String
    /// At document start, main frame only, in the page's world, for ``patterns`` where the engine takes such; it looks at
    /// the origin itself, too.
    let page: String
    /// At document end, main frame only, in the private world, on every page; `nil` where pages may zoom.
    let zoom: String?
    /// URL patterns of the pages with the bridge, such as `https://app.example/*`. WebKit's patterns know no ports.
    let patterns: [String]
    /// What is registered in the page's world, with reply: see ``WebViewRun/receivedRaw(_:_:reply:)``.
    let rawHandlers: [String]

    init(_ configuration: WebViewConfiguration) {
        let (page, limits) = (configuration.page, configuration.limits)
        rawHandlers = page.handlers.map(\.identifier.text)
        patterns = page.origins.map { "\($0.scheme)://\($0.host)/*" }
        let origins = WebViewScripts.list(page.origins.map(\.description))
        relay = """
            \(WebViewScripts.text(PackageResources.relay_js))({
            origins: \(origins),
            messagesInFlight: \(configuration.messagesInFlight),
            messagesWaiting: \(configuration.messagesWaitingInPage),
            messageUnits: \(limits.bytes),
            linesPerSecond: \(configuration.consoleLinesPerSecond),
            });
            """
        self.page = """
            \(WebViewScripts.text(PackageResources.page_js))(
            \(WebViewScripts.text(PackageResources.bridge_js)), {
            origins: \(origins),
            handlers: \(WebViewScripts.list(rawHandlers)),
            messagesWithoutListener: \(configuration.messagesWithoutListener),
            });
            """
        zoom = page.disablesZoom ? WebViewScripts.keepScale : nil
    }

    /// Reads members through `Document.prototype`, because a named element shadows those of `document` (HTML, 3.1.6).
    static let keepScale = """
        (function () {
        'use strict';
        const { prototype } = Document;
        const get = (name) => Object.getOwnPropertyDescriptor(prototype, name).get.call(document);
        let meta = prototype.querySelector.call(document, 'meta[name="viewport"]');
        if (!meta) {
          meta = prototype.createElement.call(document, 'meta');
          meta.name = 'viewport';
          Node.prototype.appendChild.call(get('head') ?? get('documentElement'), meta);
        }
        meta.content = 'width=device-width, initial-scale=1, maximum-scale=1, user-scalable=no';
        })();
        """

    private static func text(_ script: [UInt8]) -> String {
        var text = String(decoding: script, as: UTF8.self)
        while text.utf8.last == UInt8(ascii: "\n") { text.removeLast() }
        return text
    }

    private static func list(_ texts: [String]) -> String {
        "[\(texts.map(quoted).joined(separator: ","))]"
    }

    /// A string of JavaScript.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            let isPlain = (0x20..<0x7F).contains(scalar.value) && scalar != "\"" && scalar != "\\"
            quoted += isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }
        return quoted + "\""
    }
}

/// Tells that a page's title may be another one, at most ten times a second; `WKWebView` itself tells that to observers of the
/// Objective-C runtime alone. What the title is the engine is asked for, as a page can put anything in the place of what a
/// document is asked for.
enum TitleScript {
    /// The script world that nothing else is in.
    static let world = "signalbox.title"
    /// The handler in it.
    static let handler = "title"

    /// At document end, main frame only, on every page.
    static let text = """
        (function () {
        'use strict';
        let isTold = false;
        function tell() {
          isTold = false;
          webkit.messageHandlers.\(handler).postMessage(null);
        }
        function change() {
          if (isTold) return;
          isTold = true;
          setTimeout(tell, 100);
        }
        const head = Document.prototype.querySelector.call(document, 'head');
        new MutationObserver(change).observe(head ?? document, { childList: true, subtree: true, characterData: true });
        change();
        })();
        """
}
