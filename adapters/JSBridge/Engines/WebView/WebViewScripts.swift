import SignalboxCore
import SignalboxRoutes

/// The scripts that an engine injects into a web view. Only the names, origins and numbers in them come from outside
/// this module.
struct WebViewScripts: Sendable {
    /// The name of the private script world.
    static let world = "signalbox"
    /// The name of the only handler in the private world.
    static let handler = "signalbox"

    /// The script that runs at document start in the main frame's private world. If the engine supports patterns, the
    /// script runs only for ``patterns``. The script also checks the origin itself.
    let relay: String
    /// The script that runs at document start in the main frame's page world. If the engine supports patterns, the
    /// script runs only for ``patterns``. The script also checks the origin itself.
    let page: String
    /// The script that runs at document end in the main frame's private world, on every page. It is `nil` if pages may
    /// zoom.
    let zoom: String?
    /// The URL patterns of pages that have the bridge, such as `https://app.example/*`. WebKit's patterns cannot
    /// contain ports.
    let patterns: [String]
    /// The names of the handlers that reply in the page's world. See ``WebViewRun/receivedRaw(_:_:reply:)``.
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

    /// The script for ``zoom``. It reads members through `Document.prototype`, because a named element shadows the
    /// members of `document` (HTML, 3.1.6).
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

    /// Returns the texts as an array of string literals. JSON works here because it is also JavaScript.
    private static func list(_ texts: [String]) -> String {
        "[\(texts.map(JSONText.quoted).joined(separator: ","))]"
    }
}

/// A script that reports when a page's title may have changed, at most ten times a second.
///
/// The script is needed because `WKWebView` reports title changes only to observers that use the Objective-C runtime.
/// The engine reads the title itself, because a page can replace its document's properties.
enum TitleScript {
    /// A script world that only this script uses.
    static let world = "signalbox.title"
    /// The name of the handler that the script calls.
    static let handler = "title"

    /// The script's text. It runs at document end, on every page but only in the main frame.
    static let text = """
        (function () {
        'use strict';
        let isScheduled = false;
        function report() {
          isScheduled = false;
          webkit.messageHandlers.\(handler).postMessage(null);
        }
        function change() {
          if (isScheduled) return;
          isScheduled = true;
          setTimeout(report, 100);
        }
        const head = Document.prototype.querySelector.call(document, 'head');
        new MutationObserver(change).observe(head ?? document, { childList: true, subtree: true, characterData: true });
        change();
        })();
        """
}
