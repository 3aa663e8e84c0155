import AdapterSupport
public import JSBridge
public import SignalboxCore
public import SignalboxRoutes
public import WebSocketChat

/// The configuration of a ``BrowserEngine``.
///
/// The configuration contains the documents to serve, the pages that may connect, and the limits. For example, this
/// engine serves a page that calls the plugin `payment`:
///
/// ```swift
/// var configuration = BrowserConfiguration(source: "shop", documents: [
///     "/": .page("<!doctype html><title>Shop</title><script src=/shop.js></script>"),
///     "/shop.js": .script("signalbox.call('payment', { amount: 3 })"),
/// ])
/// configuration.port = 8080
/// let engine = try BrowserEngine(configuration, logger: logger)
/// ```
public struct BrowserConfiguration: Sendable {
    /// The path of the bridge script, which ``documents`` must not use.
    ///
    /// The engine adds a tag for the script to each page of ``documents``. A page of another origin loads the script by
    /// its full URL, as a classic script.
    public static let scriptPath = "/signalbox.js"
    /// The path of the WebSocket endpoint.
    static let socketPath = "/signalbox"

    /// The source that the arrivals belong to.
    public var source: SourceName
    /// The numeric address to listen on, with IPv6 addresses written without brackets. The default `127.0.0.1` is
    /// reachable from this machine only.
    public var address = "127.0.0.1"
    /// The port to listen on. If it is 0, which is the default, the system chooses the port, which
    /// ``BrowserEngine/port()`` returns.
    public var port: UInt16 = 0
    /// The host by which browsers reach the server, as written in a URL. If it is `nil`, which is the default, the host
    /// is ``address``.
    ///
    /// The host is required if ``address`` is a wildcard address, or if a certificate names another host. The origin of
    /// the served pages is derived from it, so no other server may serve pages under this name and port.
    public var host: String?
    /// The certificate of the server, or `nil` (the default) to disable TLS.
    public var identity: WebSocketIdentity?
    /// The documents to serve, by path. There may be at most 99, with 16 MiB in total.
    ///
    /// Anyone who can reach the port can read the documents, so they must not contain secrets. Each page gets the
    /// bridge as the first script of its head. The page can load scripts, styles, images and data only from this site,
    /// and no page can frame it.
    public var documents: [String: BrowserDocument] = [:]
    /// Whether the inline scripts and styles of a page run. The default is `false`.
    ///
    /// If they do, an attacker who can insert unescaped text into a page can act in the name of the page.
    public var allowsInlineCode = false
    /// The additional origins whose pages may connect, at most 1,000. The default is to allow none.
    ///
    /// The engine cannot determine whether a page of another origin is in a frame.
    public var origins: [WebOrigin] = []
    /// The token that a page must present, of 16 to 73 bytes. If it is `nil`, which is the default, the engine
    /// generates 128 random bits.
    ///
    /// ``BrowserEngine/url(_:)`` adds the token to the URL.
    public var token: Secret?
    /// The maximum number of connected pages, 1 to 100,000. The default is 100. Further pages retry until there is
    /// room.
    public var connections = 100
    /// The maximum number of unsettled messages of one page, 1 to 4,000. The default is 64. Further messages wait in
    /// the page.
    public var messagesInFlight = 64
    /// The maximum number of messages of one page that are unsettled or wait in the page, 1 to 1,000,000. The default
    /// is 10,000.
    ///
    /// The page rejects a call beyond the limit with `full`.
    public var messagesWaitingInPage = 10_000
    /// The time after which the page rejects a call with `closed` if it has no connection, 1 ms to 1 h. The default is
    /// 10 s.
    public var connectionTimeout: Duration = .seconds(10)
    /// The maximum back-off before a page reconnects, 1 ms to 1 h. The default is 10 s.
    ///
    /// The first back-off is at most 250 ms, and each back-off has random jitter.
    public var reconnectCap: Duration = .seconds(10)
    /// The maximum number of the program's calls that one page has not answered, 1 to 1,000,000. The default is 1,000.
    ///
    /// Beyond the limit, a `PageHandle` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000. The
    /// default is 256.
    ///
    /// Beyond the limit, the page drops the oldest message and logs this to the browser's console. If the dropped
    /// message is a call that expects an answer, the call gets an error.
    public var messagesWithoutListener = 256
    /// The limits of one message in either direction. The maximum size is 1 GiB less 1 MiB.
    public var limits = MessageLimits()
    /// The maximum number of bytes queued for sending to one page, 1 KiB to 1 GiB. The default is 1 MiB.
    ///
    /// The engine disconnects a page that reads too slowly to stay below the limit.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes queued for sending to all pages, at least ``waitingBytes`` and at most 64 GiB. The
    /// default is 64 MiB.
    ///
    /// Beyond the limit, the engine disconnects the page with the most queued bytes.
    public var allWaitingBytes = 67_108_864

    /// Creates a configuration for pages that only browsers on this machine can reach.
    public init(source: SourceName, documents: [String: BrowserDocument] = [:]) {
        self.source = source
        self.documents = documents
    }
}

/// A document that the engine serves to browsers. Use ``page(_:)``, ``script(_:)`` and ``style(_:)`` for the usual
/// types.
public struct BrowserDocument: Sendable, Hashable {
    /// The media type, of 1 to 128 bytes of printable ASCII. A document of the type `text/html` is a page.
    public let contentType: String
    /// The content, of at most 1 MiB. In a page, this includes the script tag that the engine adds.
    public let body: [UInt8]

    /// Creates a document with this content.
    public init(contentType: String, body: [UInt8]) {
        self.contentType = contentType
        self.body = body
    }

    /// Returns an HTML page.
    public static func page(_ html: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/html; charset=utf-8", body: Array(html.utf8))
    }

    /// Returns a script that pages can load.
    public static func script(_ source: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/javascript; charset=utf-8", body: Array(source.utf8))
    }

    /// Returns a style sheet that pages can load.
    public static func style(_ sheet: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/css; charset=utf-8", body: Array(sheet.utf8))
    }

    /// Whether the document is a page. Only pages get the bridge.
    var isPage: Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.split(separator: " ").elementsEqual(["text/html"])
    }
}

extension BrowserConfiguration {
    /// Checks that every value is in its range, and that the values are consistent. This method opens no file and no
    /// port.
    ///
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration` for the first invalid value, with advice.
    public func validate() throws(BrowserBridgeError) {
        guard host != nil || !["::", "0.0.0.0"].contains(address) else {
            throw invalid("\(address) means every address of the machine: set the host by which browsers reach it")
        }
        guard (1...100_000).contains(connections) else { throw invalid("the connections must be 1 to 100000") }
        guard (1...4_000).contains(messagesInFlight) else { throw invalid("the messages in flight must be 1 to 4000") }
        for (name, count) in [
            ("waiting in a page", messagesWaitingInPage), ("to a page", messagesToPage),
            ("without a listener", messagesWithoutListener),
        ] where !(1...1_000_000).contains(count) {
            throw invalid("the messages \(name) must be 1 to 1000000")
        }
        for (name, duration) in [("timeout", connectionTimeout), ("longest wait", reconnectCap)]
        where !(Duration.milliseconds(1) ... .seconds(3_600)).contains(duration) {
            throw invalid("a page's \(name) for a connection must be 1 ms to 1 h")
        }
        guard limits.bytes <= 1 << 30 - 1 << 20 else {
            throw invalid("the limit of a message must be at most 1 GiB less 1 MiB")
        }
        guard documents.count <= 99 else { throw invalid("a site can have at most 99 documents") }
        guard documents[BrowserConfiguration.scriptPath] == nil else {
            throw invalid("a document has the path of the bridge, \(BrowserConfiguration.scriptPath); move it")
        }
    }

    func invalid(_ detail: String) -> BrowserBridgeError {
        BrowserBridgeError(.invalidConfiguration, detail, source: source)
    }
}

extension BrowserConfiguration {
    /// The action name of every message from a page, which the server does not parse further.
    static let frame: ActionName = "frame"

    /// Returns the configuration of the underlying WebSocket server.
    ///
    /// - Parameter token: The token that a page must present.
    func server(token: Secret) -> WebSocketServerConfiguration {
        var server = WebSocketServerConfiguration(source: source, port: port)
        server.address = address
        server.path = BrowserConfiguration.socketPath
        server.identity = identity
        server.origins = origins
        server.pagesHost = hostInURL
        server.absentOrigin = .refused
        server.principals = [WebSocketPrincipal("page", token: token)]
        server.frames = WebSocketFrames(text: .action(BrowserConfiguration.frame, .bytes))
        server.limits = MessageLimits(bytes: limits.bytes + PageFrame.longestLine, depth: limits.depth)
        server.answers = false
        server.announcesConnections = true
        server.connections = connections
        // Reading resumes when half of the connection window is free, so the server always reads a page that is within
        // its own window.
        server.connectionWindow = 2 * messagesInFlight + 2
        server.waitingBytes = waitingBytes
        server.allWaitingBytes = allWaitingBytes
        server.pages = pages
        server.healthPath = nil
        return server
    }

    /// The host as written in a URL.
    var hostInURL: String { host ?? (address.contains(":") ? "[\(address)]" : address) }

    private var pages: [String: WebSocketPage] {
        let policy = allowsInlineCode ? WebSocketPagePolicy.siteWithInlineCode : .site
        var pages = documents.mapValues { document in
            let body = document.isPage ? ScriptTag.added(to: document.body) : document.body
            return WebSocketPage(contentType: document.contentType, body: body, policy: policy)
        }
        pages[BrowserConfiguration.scriptPath] = WebSocketPage(
            contentType: "text/javascript; charset=utf-8",
            body: BrowserScript.text(for: self),
            policy: .shared
        )
        return pages
    }
}
