// refused: does not conform to protocol 'WKNavigationDelegate'
import Foundation
import WebKit

/// A delegate method whose name is nearly right. Apple's module would accept it and never call it.
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
