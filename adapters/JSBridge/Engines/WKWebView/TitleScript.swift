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
