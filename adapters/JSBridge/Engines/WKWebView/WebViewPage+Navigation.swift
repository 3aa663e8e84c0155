#if canImport(WebKit)
import Foundation
import NavigationChain
import SignalboxRoutes
import WebKit

/// Requests navigation verdicts and applies them. Each request is answered exactly once, because the delegate methods
/// return their answers.
extension WebViewPage: WKNavigationDelegate {
    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationAction: WKNavigationAction
    ) async -> WKNavigationActionPolicy {
        guard let text = navigationAction.request.url?.absoluteString else { return .cancel }
        guard let target = navigationAction.targetFrame else {
            // A new window's URL needs a verdict and is then shown in this view, because there is no second view.
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
        // A response that can be shown is allowed, because its navigation already has a verdict.
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
        guard isOpen, !commands.open(PageCommands.Popup(text: text, page: url)) else { return }
        host.counters.add(to: \.navigationsUndecided)
    }

    /// Requests a verdict, and returns whether the text may be loaded. This method also carries out everything else
    /// that the verdict implies.
    private func mayLoad(_ text: String, kind: NavigationKind, frame: FrameRole) async -> Bool {
        guard let verdict = await verdict(about: text, kind: kind, frame: frame, page: url) else { return false }
        guard verdict.policy == .allow, kind != .download, let url = verdict.url else {
            host.reportRefused(verdict, hasPage: self.url != nil)
            return false
        }
        // Only the verdict's URL may load. The engine's text must therefore be in normal form, or be replaced by the
        // normal form.
        guard url.text == text else {
            if frame == .main, kind != .form { load(normalForm: url) }
            return false
        }
        return true
    }

    /// Opens a page's new window in this view. The load is subject to the navigation chain, like any other.
    func open(_ popup: PageCommands.Popup) async {
        guard let verdict = await verdict(about: popup.text, kind: .newWindow, frame: .main, page: popup.page) else {
            return
        }
        guard verdict.policy == .allow else { return host.reportRefused(verdict, hasPage: url != nil) }
        if let url = host.windowURL(of: verdict) { load(url.text) }
    }

    /// - Returns: The verdict, or `nil` if the page ends or is stopping before the verdict can be used.
    private func verdict(
        about text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText?
    ) async -> NavigationVerdict? {
        guard isOpen, !commands.isStopping else { return nil }
        let verdict = await host.gate.decide(text, kind: kind, frame: frame, page: page)
        return isOpen && !commands.isStopping ? verdict : nil
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
    /// Handles a script's request for a window. Links that open windows were already checked.
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
