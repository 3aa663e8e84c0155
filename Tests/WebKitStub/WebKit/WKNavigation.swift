// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in for Apple's module, whose documentation applies.
import Foundation
import FoundationNetworking

@MainActor open class WKNavigation: NSObject {}

public enum WKNavigationType: Int, Sendable {
    case linkActivated = 0
    case formSubmitted = 1
    case backForward = 2
    case reload = 3
    case formResubmitted = 4
    case other = -1
}

public enum WKNavigationActionPolicy: Int, Sendable {
    case cancel = 0
    case allow = 1
    case download = 2
}

public enum WKNavigationResponsePolicy: Int, Sendable {
    case cancel = 0
    case allow = 1
    case download = 2
}

@MainActor open class WKNavigationAction: NSObject {
    open var sourceFrame: WKFrameInfo { WKFrameInfo(stubIsMain: true, host: "") }
    open var targetFrame: WKFrameInfo? { stubTarget }
    open var navigationType: WKNavigationType { stubType }
    open var request: URLRequest { stubRequest }
    open var shouldPerformDownload: Bool { stubIsDownload }

    private let stubRequest: URLRequest
    private let stubType: WKNavigationType
    private let stubTarget: WKFrameInfo?
    private let stubIsDownload: Bool

    public init(
        stubRequest: URLRequest,
        type: WKNavigationType = .other,
        target: WKFrameInfo? = nil,
        isDownload: Bool = false
    ) {
        self.stubRequest = stubRequest
        stubType = type
        stubTarget = target
        stubIsDownload = isDownload
        super.init()
    }
}

@MainActor open class WKNavigationResponse: NSObject {
    open var isForMainFrame: Bool { true }
    open var response: URLResponse { stubResponse }
    open var canShowMIMEType: Bool { stubCanShow }

    private let stubResponse: URLResponse
    private let stubCanShow: Bool

    public init(stubResponse: URLResponse, canShow: Bool) {
        self.stubResponse = stubResponse
        stubCanShow = canShow
        super.init()
    }
}

@MainActor public protocol WKNavigationDelegate: NSObjectProtocol {
    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationAction: WKNavigationAction
    ) async -> WKNavigationActionPolicy
    func webView(
        _ webView: WKWebView,
        decidePolicyFor navigationResponse: WKNavigationResponse
    ) async -> WKNavigationResponsePolicy
    func webView(_ webView: WKWebView, didCommit navigation: WKNavigation!)
    func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!)
    func webView(_ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error)
    func webView(
        _ webView: WKWebView,
        didFailProvisionalNavigation navigation: WKNavigation!,
        withError error: any Error
    )
    func webViewWebContentProcessDidTerminate(_ webView: WKWebView)
}
