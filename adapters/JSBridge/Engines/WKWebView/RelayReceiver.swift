#if canImport(WebKit)
import Foundation
import WebKit

/// Hears relay.js, in the private world. The content controller keeps it, and it does not keep the page.
final class RelayReceiver: NSObject, WKScriptMessageHandler {
    private weak var page: WebViewPage?

    init(_ page: WebViewPage) {
        self.page = page
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) {
        guard let text = message.body as? String else { return }
        let frame = message.frameInfo
        page?.received(text, isMainFrame: frame.isMainFrame, from: frame.securityOrigin)
    }
}
#endif
