// refused: does not conform to protocol 'WKNavigationDelegate'
import Foundation
import WebKit

/// One method of the delegate has a name that is nearly right, which Apple's module would take and never call.
final class NearlyADelegate: NSObject, WKNavigationDelegate {
    func webView(_ webView: WKWebView, decidePolicyFor action: WKNavigationAction) async -> WKNavigationActionPolicy {
        .allow
    }

    func webView(_ webView: WKWebView, decidePolicyFor response: WKNavigationResponse) async
        -> WKNavigationResponsePolicy
    { .allow }

    func webView(_ webView: WKWebView, didCommitNavigation navigation: WKNavigation!) {}
    func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!) {}
    func webView(_ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error) {}
    func webView(
        _ webView: WKWebView,
        didFailProvisionalNavigation navigation: WKNavigation!,
        withError error: any Error
    ) {}
    func webViewWebContentProcessDidTerminate(_ webView: WKWebView) {}
}
