// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in for Apple's module, whose documentation applies. Tests drive it through names that begin with `stub`.
@_exported import Foundation
@_exported import FoundationNetworking

@MainActor open class WKContentWorld: NSObject {
    public let stubName: String

    init(stubName: String) {
        self.stubName = stubName
        super.init()
    }

    open class var page: WKContentWorld { WKContentWorld(stubName: "page") }
    open class var defaultClient: WKContentWorld { WKContentWorld(stubName: "defaultClient") }
    open class func world(name: String) -> WKContentWorld { WKContentWorld(stubName: name) }
}

public enum WKUserScriptInjectionTime: Int, Sendable {
    case atDocumentStart = 0
    case atDocumentEnd = 1
}

@MainActor open class WKUserScript: NSObject {
    /// The world, time and frames, such as `signalbox start main`.
    public let stubKey: String

    public init(
        source: String,
        injectionTime: WKUserScriptInjectionTime,
        forMainFrameOnly: Bool,
        in contentWorld: WKContentWorld
    ) {
        let time = injectionTime == .atDocumentStart ? "start" : "end"
        stubKey = "\(contentWorld.stubName) \(time) \(forMainFrameOnly ? "main" : "all")"
        super.init()
    }

    public convenience init(source: String, injectionTime: WKUserScriptInjectionTime, forMainFrameOnly: Bool) {
        self.init(source: source, injectionTime: injectionTime, forMainFrameOnly: forMainFrameOnly, in: .page)
    }
}

@MainActor open class WKUserContentController: NSObject {
    public private(set) var stubScripts: [WKUserScript] = []
    /// Keyed by world and name, such as `signalbox/signalbox`.
    public private(set) var stubHandlers: [String: any WKScriptMessageHandler] = [:]
    public private(set) var stubReplyHandlers: [String: any WKScriptMessageHandlerWithReply] = [:]

    open func addUserScript(_ userScript: WKUserScript) { stubScripts.append(userScript) }
    open func removeAllUserScripts() { stubScripts = [] }

    open func add(_ scriptMessageHandler: any WKScriptMessageHandler, name: String) {
        add(scriptMessageHandler, contentWorld: .page, name: name)
    }

    open func add(
        _ scriptMessageHandler: any WKScriptMessageHandler,
        contentWorld world: WKContentWorld,
        name: String
    ) {
        let key = stubKey(world, name)
        stubHandlers[key] = scriptMessageHandler
    }

    open func addScriptMessageHandler(
        _ scriptMessageHandlerWithReply: any WKScriptMessageHandlerWithReply,
        contentWorld: WKContentWorld,
        name: String
    ) {
        let key = stubKey(contentWorld, name)
        stubReplyHandlers[key] = scriptMessageHandlerWithReply
    }

    open func removeAllScriptMessageHandlers() {
        stubHandlers = [:]
        stubReplyHandlers = [:]
    }

    /// The real class raises an exception if a world already has a handler of this name.
    private func stubKey(_ world: WKContentWorld, _ name: String) -> String {
        let key = "\(world.stubName)/\(name)"
        precondition(
            stubHandlers[key] == nil && stubReplyHandlers[key] == nil,
            "duplicate handler: \(key)"
        )
        return key
    }
}

@MainActor open class WKSecurityOrigin: NSObject {
    private let stubOrigin: (scheme: String, host: String, port: Int)

    init(stubOrigin: (scheme: String, host: String, port: Int)) {
        self.stubOrigin = stubOrigin
        super.init()
    }

    open var `protocol`: String { stubOrigin.scheme }
    open var host: String { stubOrigin.host }
    open var port: Int { stubOrigin.port }
}

@MainActor open class WKFrameInfo: NSObject {
    open var isMainFrame: Bool { stubIsMain }
    open var request: URLRequest { URLRequest(url: URL(fileURLWithPath: "/")) }
    open var securityOrigin: WKSecurityOrigin { WKSecurityOrigin(stubOrigin: stubOrigin) }
    open weak var webView: WKWebView? { nil }

    private let stubIsMain: Bool
    private let stubOrigin: (scheme: String, host: String, port: Int)

    public init(stubIsMain: Bool, scheme: String = "https", host: String, port: Int = 0) {
        self.stubIsMain = stubIsMain
        stubOrigin = (scheme, host, port)
        super.init()
    }
}

@MainActor open class WKScriptMessage: NSObject {
    open var body: Any { stubBody }
    open weak var webView: WKWebView? { nil }
    open var frameInfo: WKFrameInfo { stubFrame }
    open var name: String { stubName }
    open var world: WKContentWorld { WKContentWorld.page }

    private let stubName: String
    private let stubBody: Any
    private let stubFrame: WKFrameInfo

    public init(stubName: String, body: Any, frame: WKFrameInfo) {
        self.stubName = stubName
        stubBody = body
        stubFrame = frame
        super.init()
    }
}

@MainActor public protocol WKScriptMessageHandler: NSObjectProtocol {
    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    )
}

@MainActor public protocol WKScriptMessageHandlerWithReply: NSObjectProtocol {
    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) async -> (Any?, String?)
}
