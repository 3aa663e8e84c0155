// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in for Apple's module, whose documentation applies.
import Foundation
import FoundationNetworking

#if canImport(UIKit)
public import UIKit
public typealias StubImage = UIImage
#elseif canImport(AppKit)
public import AppKit
public typealias StubImage = NSImage
#endif

@MainActor open class WKWebViewConfiguration: NSObject {
    open var userContentController = WKUserContentController()
    open var applicationNameForUserAgent: String?
    open var websiteDataStore = WKWebsiteDataStore.default()
}

@MainActor open class WKWebsiteDataStore: NSObject {
    open var isPersistent: Bool { stubIsPersistent }

    private let stubIsPersistent: Bool

    init(stubIsPersistent: Bool) {
        self.stubIsPersistent = stubIsPersistent
        super.init()
    }

    open class func `default`() -> WKWebsiteDataStore { WKWebsiteDataStore(stubIsPersistent: true) }
    open class func nonPersistent() -> WKWebsiteDataStore { WKWebsiteDataStore(stubIsPersistent: false) }
}

@MainActor open class WKSnapshotConfiguration: NSObject {}

@MainActor open class WKWindowFeatures: NSObject {}

// In Apple's module the superclass is a view. The engine does not rely on that.
@MainActor open class WKWebView: NSObject {
    open var configuration: WKWebViewConfiguration
    open weak var navigationDelegate: (any WKNavigationDelegate)?
    open weak var uiDelegate: (any WKUIDelegate)?
    open var title: String? { stubTitle }
    open var url: URL? { stubURL }

    public var stubTitle: String?
    public var stubURL: URL?
    public var stubImage: StubImage?
    /// The calls that the view received, one line each, in order.
    public let stubCalls: AsyncStream<String>
    private let stubSay: AsyncStream<String>.Continuation
    private var stubScripts: [@MainActor (Result<Any, any Error>) -> Void] = []

    public init(frame: CGRect, configuration: WKWebViewConfiguration) {
        self.configuration = configuration
        (stubCalls, stubSay) = AsyncStream.makeStream()
        super.init()
    }

    /// Ends the running scripts, as WebKit does some time after it has received them.
    public func stubEndScripts() {
        defer { stubScripts = [] }
        for end in stubScripts { end(.success(NSNull())) }
    }

    @discardableResult open func load(_ request: URLRequest) -> WKNavigation? {
        stubSay.yield("load \(request.url?.absoluteString ?? "")")
        return nil
    }

    @discardableResult open func loadHTMLString(_ string: String, baseURL: URL?) -> WKNavigation? {
        stubSay.yield("show \"\(string)\"")
        return nil
    }

    @discardableResult open func reload() -> WKNavigation? {
        stubSay.yield("reload")
        return nil
    }

    open func stopLoading() {}

    open func evaluateJavaScript(
        _ javaScript: String,
        completionHandler: (@MainActor @Sendable (Any?, (any Error)?) -> Void)? = nil
    ) {}

    public func evaluateJavaScript(
        _ javaScript: String,
        in frame: WKFrameInfo? = nil,
        in contentWorld: WKContentWorld,
        completionHandler: (@MainActor (Result<Any, any Error>) -> Void)? = nil
    ) {
        if let completionHandler { stubScripts.append(completionHandler) }
        stubSay.yield(
            "evaluate in \(frame == nil ? "the main frame" : "a frame"), \(contentWorld.stubName): \(javaScript)"
        )
    }

    public func callAsyncJavaScript(
        _ functionBody: String,
        arguments: [String: Any] = [:],
        in frame: WKFrameInfo? = nil,
        contentWorld: WKContentWorld
    ) async throws -> Any? { nil }

    open func takeSnapshot(
        with snapshotConfiguration: WKSnapshotConfiguration?,
        completionHandler: @escaping @MainActor @Sendable (StubImage?, (any Error)?) -> Void
    ) {
        completionHandler(stubImage, nil)
    }
}

@MainActor public protocol WKUIDelegate: NSObjectProtocol {
    func webView(
        _ webView: WKWebView,
        createWebViewWith configuration: WKWebViewConfiguration,
        for navigationAction: WKNavigationAction,
        windowFeatures: WKWindowFeatures
    ) -> WKWebView?
}
