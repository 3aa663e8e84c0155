#if canImport(WebKit)
import AdapterSupport
import Foundation
import Logging
import NavigationChain
import SignalboxRoutes
import WebKit

/// Requests navigation verdicts and applies them. The delegate's return values ensure exactly one answer each.
extension WebViewPage: WKNavigationDelegate {
    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationAction: WKNavigationAction
    ) async -> WKNavigationActionPolicy {
        guard let text = navigationAction.request.url?.absoluteString else { return .cancel }
        guard let target = navigationAction.targetFrame else {
            // A new window's URL needs a verdict and is shown in this view; there is no second view.
            requestNewWindow(text)
            return .cancel
        }
        let frame = target.isMainFrame ? FrameRole.main : .sub
        return await mayLoad(text, kind: WebViewPage.kind(of: navigationAction), frame: frame) ? .allow : .cancel
    }

    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationResponse: WKNavigationResponse
    ) async -> WKNavigationResponsePolicy {
        let response = navigationResponse.response
        // The navigation already has a verdict, and its content can be shown.
        let disposition = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Disposition")
        if navigationResponse.canShowMIMEType, !isAttachment(disposition) { return .allow }
        guard let text = response.url?.absoluteString else { return .cancel }
        _ = await mayLoad(text, kind: .download, frame: navigationResponse.isForMainFrame ? .main : .sub)
        return .cancel
    }

    func webView(_ webView: WKWebView, didCommit navigation: WKNavigation!) {
        committed()
    }

    func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!) {
        titleChanged()
    }

    func webView(_ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error) {
        failed(error)
    }

    func webView(
        _ webView: WKWebView,
        didFailProvisionalNavigation navigation: WKNavigation!,
        withError error: any Error
    ) {
        failed(error)
    }

    func webViewWebContentProcessDidTerminate(_ webView: WKWebView) {
        processEnded()
    }

    private func requestNewWindow(_ text: String) {
        guard isOpen, !parts.commands.open(PageCommands.Popup(text: text, page: url)) else { return }
        parts.counters.add(to: \.navigationsUndecided)
    }

    /// Requests a verdict and returns whether to load the text. Performs any other consequence itself.
    private func mayLoad(_ text: String, kind: NavigationKind, frame: FrameRole) async -> Bool {
        guard let verdict = await verdict(about: text, kind: kind, frame: frame, page: url) else { return false }
        guard verdict.policy == .allow, kind != .download, let url = verdict.url else {
            refused(verdict)
            return false
        }
        // Only the URL of the verdict may load, so the engine's text must be in normal form or be replaced by it.
        guard url.text == text else {
            if frame == .main, kind != .form { load(normalForm: url) }
            return false
        }
        return true
    }

    /// Opens a page's new window in this view. The load is subject to the navigation chain like any other.
    func open(_ popup: PageCommands.Popup) async {
        guard let verdict = await verdict(about: popup.text, kind: .newWindow, frame: .main, page: popup.page) else {
            return
        }
        guard verdict.policy == .allow, let url = verdict.url else { return refused(verdict) }
        guard url.scheme == "http" || url.scheme == "https" else {
            let line = "a new window was not opened, because only http and https are loaded: \(verdict)"
            parts.log.writeLimited(.warning, "window", line)
            return
        }
        load(url.text)
    }

    /// - Returns: `nil` if the page ends or is stopping before the verdict is used.
    private func verdict(
        about text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText?
    ) async -> NavigationVerdict? {
        guard isOpen, !parts.commands.isStopping else { return nil }
        let verdict = await parts.gate.decide(text, kind: kind, frame: frame, page: page)
        return isOpen && !parts.commands.isStopping ? verdict : nil
    }

    private func refused(_ verdict: NavigationVerdict) {
        if verdict.policy != .cancel {
            parts.log.writeLimited(
                .warning,
                "download",
                "a download was refused, because this engine has no downloads: \(verdict)"
            )
        } else if url == nil {
            parts.log.writeLimited(.warning, "first", "the first page is not allowed to load: \(verdict)")
        }
    }

    private static func kind(of action: WKNavigationAction) -> NavigationKind {
        if action.shouldPerformDownload { return .download }
        return switch action.navigationType {
        case .linkActivated: .link
        case .formSubmitted, .formResubmitted: .form
        case .reload: .reload
        default: .other
        }
    }
}

extension WebViewPage: WKUIDelegate {
    /// Handles a window that a script requests. Links that open windows are checked earlier.
    func webView(
        _ webView: WKWebView,
        createWebViewWith configuration: WKWebViewConfiguration,
        for navigationAction: WKNavigationAction,
        windowFeatures: WKWindowFeatures
    ) -> WKWebView? {
        if let url = navigationAction.request.url { requestNewWindow(url.absoluteString) }
        return nil
    }
}
#endif
