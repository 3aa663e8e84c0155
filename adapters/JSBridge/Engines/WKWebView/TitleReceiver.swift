#if canImport(WebKit)
import Foundation
import WebKit

/// Hears ``TitleScript``. The content controller keeps it, and it does not keep the page.
final class TitleReceiver: NSObject, WKScriptMessageHandler {
    private weak var page: WebViewPage?

    init(_ page: WebViewPage) {
        self.page = page
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) {
        page?.titleChanged()
    }
}
#endif
