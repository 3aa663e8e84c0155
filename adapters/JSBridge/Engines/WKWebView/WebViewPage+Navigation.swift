#if canImport(WebKit)
import AdapterThreads
import Foundation
import Logging
import NavigationChain
import SignalboxRoutes
import WebKit

/// Who asks, and how a verdict is carried out. What is returned can be neither forgotten nor given twice.
extension WebViewPage: WKNavigationDelegate {
    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationAction: WKNavigationAction
    ) async -> WKNavigationActionPolicy {
        guard let text = navigationAction.request.url?.absoluteString else { return .cancel }
        guard let target = navigationAction.targetFrame else {
            // No second view is made: what a new window is to show is asked about, and shown in this one.
            ask(toOpen: text)
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
        // The navigation that led here was asked about, and what came is shown.
        if navigationResponse.canShowMIMEType, !WebViewPage.isAttachment(response) { return .allow }
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

    private func ask(toOpen text: String) {
        guard isOpen, !parts.wishes.open(PageWishes.Popup(text: text, page: url)) else { return }
        parts.counters.add(to: \.navigationsUndecided)
    }

    /// Asks, and carries out what is neither to load the text nor to leave it.
    private func mayLoad(_ text: String, kind: NavigationKind, frame: FrameRole) async -> Bool {
        guard let verdict = await verdict(about: text, kind: kind, frame: frame, page: url) else { return false }
        guard verdict.policy == .allow, kind != .download, let url = verdict.url else {
            refused(verdict)
            return false
        }
        // What was decided about is what is loaded: the engine's text must be the normal form, or become it.
        guard url.text == text else {
            if frame == .main, kind != .form { load(normalForm: url) }
            return false
        }
        return true
    }

    /// What a page wanted to open in a window of its own takes its place; it is asked about as every load is.
    func open(_ popup: PageWishes.Popup) async {
        guard let verdict = await verdict(about: popup.text, kind: .newWindow, frame: .main, page: popup.page) else {
            return
        }
        guard verdict.policy == .allow, let url = verdict.url else { return refused(verdict) }
        guard url.scheme == "http" || url.scheme == "https" else {
            let line = "only pages of the web are loaded in place of a new window: \(verdict)"
            parts.log.say(.warning, "window", line)
            return
        }
        load(url.text)
    }

    /// - Returns: `nil` when the page has ended, or ends, before there is a verdict or while it was made.
    private func verdict(
        about text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText?
    ) async -> NavigationVerdict? {
        guard isOpen, !parts.wishes.isStopping else { return nil }
        let verdict = await parts.gate.decide(text, kind: kind, frame: frame, page: page)
        return isOpen && !parts.wishes.isStopping ? verdict : nil
    }

    private func refused(_ verdict: NavigationVerdict) {
        if verdict.policy != .cancel {
            parts.log.say(.warning, "download", "something was to be stored, which this engine does not: \(verdict)")
        } else if url == nil {
            parts.log.say(.warning, "first", "the first page may not be loaded: \(verdict)")
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

    /// RFC 6266, section 4.2: what is not `inline` is to be stored.
    private static func isAttachment(_ response: URLResponse) -> Bool {
        guard let response = response as? HTTPURLResponse,
            let value = response.value(forHTTPHeaderField: "Content-Disposition")
        else { return false }
        let words = value.lowercased().split(separator: ";", omittingEmptySubsequences: false)
        let type = words.first?.split(separator: " ").first ?? ""
        return !type.isEmpty && type != "inline"
    }
}

extension WebViewPage: WKUIDelegate {
    /// A script asks for a window. Links that do are asked about before.
    func webView(
        _ webView: WKWebView,
        createWebViewWith configuration: WKWebViewConfiguration,
        for navigationAction: WKNavigationAction,
        windowFeatures: WKWindowFeatures
    ) -> WKWebView? {
        if let url = navigationAction.request.url { ask(toOpen: url.absoluteString) }
        return nil
    }
}
#endif
