import AdapterSupport
public import JSBridge
public import SignalboxCore
public import SignalboxRoutes
public import WebSocketChat

/// The configuration of a ``BrowserEngine``.
///
/// It lists the documents to serve and the pages that may connect, and sets the limits. For example, this engine serves
/// a page that calls the plugin `payment`:
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
    /// The path of the bridge script. ``documents`` must not contain this path.
    ///
    /// The engine adds a tag for the script to each page in ``documents``. Pages from other origins load the script by
    /// its full URL, as a classic script.
    public static let scriptPath = "/signalbox.js"
    /// The path of the WebSocket endpoint.
    static let socketPath = "/signalbox"

    /// The source that arrivals from pages belong to.
    public var source: SourceName
    /// The numeric address to listen on. Write IPv6 addresses without brackets. The default, `127.0.0.1`, is reachable
    /// only from this machine.
    public var address = "127.0.0.1"
    /// The port to listen on. By default, the port is 0 and the system chooses one, which ``BrowserEngine/port()``
    /// returns.
    public var port: UInt16 = 0
    /// The host that browsers use to reach the server, as written in a URL. The default, `nil`, means ``address``.
    ///
    /// You must set the host if ``address`` is a wildcard address, or if the certificate is for a different host. The
    /// origin of the served pages is derived from the host, so no other server may serve pages under this name and
    /// port.
    public var host: String?
    /// The server's certificate. The default, `nil`, disables TLS.
    public var identity: WebSocketIdentity?
    /// The documents to serve, by path. There can be at most 99, with a total size of 16 MiB.
    ///
    /// Anyone who can reach the port can read the documents, so they must not contain secrets. The engine inserts the
    /// bridge as the first script in the head of each page. Pages can load scripts, styles, images and data only from
    /// this site, and no page can frame them.
    public var documents: [String: BrowserDocument] = [:]
    /// Whether inline scripts and styles in a page run. The default is `false`.
    ///
    /// If inline code runs, an attacker who can insert unescaped text into a page can act as that page.
    public var allowsInlineCode = false
    /// Additional origins whose pages may connect. There can be at most 1,000. By default, the list is empty.
    ///
    /// The engine cannot determine whether a page from another origin is in a frame.
    public var origins: [WebOrigin] = []
    /// The token that a page must present, from 16 to 73 bytes long. If it is `nil`, which is the default, the engine
    /// generates a token from 128 random bits.
    ///
    /// ``BrowserEngine/url(_:)`` adds the token to the URL.
    public var token: Secret?
    /// The maximum number of connected pages. Must be between 1 and 100,000; the default is 100.
    ///
    /// Further pages keep retrying until there is room.
    public var connections = 100
    /// The maximum number of unsettled messages from one page. Must be between 1 and 4,000; the default is 64.
    ///
    /// Further messages wait in the page.
    public var messagesInFlight = 64
    /// The maximum number of messages from one page that are unsettled or still waiting in the page. Must be between 1
    /// and 1,000,000; the default is 10,000.
    ///
    /// Beyond the limit, the page rejects calls with `full`.
    public var messagesWaitingInPage = 10_000
    /// How long a call waits for a connection before the page rejects the call with `closed`. Must be between 1 ms and
    /// 1 h; the default is 10 s.
    public var connectionTimeout: Duration = .seconds(10)
    /// The maximum delay before a page reconnects. Must be between 1 ms and 1 h; the default is 10 s.
    ///
    /// The first delay is at most 250 ms, and every delay has random jitter.
    public var reconnectCap: Duration = .seconds(10)
    /// The maximum number of the program's calls that one page has not answered yet. Must be between 1 and 1,000,000;
    /// the default is 1,000.
    ///
    /// Beyond the limit, the page's `PageHandle` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that wait in the page until it adds a listener with `signalbox.on`. Must be
    /// between 1 and 1,000,000; the default is 256.
    ///
    /// Beyond the limit, the page drops the oldest message and logs the loss to the browser's console. If the dropped
    /// message is a call that expects an answer, the call fails with an error.
    public var messagesWithoutListener = 256
    /// The limits for a single message in either direction. The maximum size cannot exceed 1 GiB less 1 MiB.
    public var limits = MessageLimits()
    /// The maximum number of bytes queued for one page. Must be between 1 KiB and 1 GiB; the default is 1 MiB.
    ///
    /// The engine disconnects a page that reads so slowly that its queue exceeds the limit.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes queued for all pages together. Must be at least ``waitingBytes`` and at most 64 GiB;
    /// the default is 64 MiB.
    ///
    /// Beyond the limit, the engine disconnects the page with the most queued bytes.
    public var allWaitingBytes = 67_108_864

    /// Creates a configuration for an engine that only browsers on this machine can reach.
    public init(source: SourceName, documents: [String: BrowserDocument] = [:]) {
        self.source = source
        self.documents = documents
    }
}

/// A document that the engine serves to browsers.
///
/// Use ``page(_:)``, ``script(_:)`` and ``style(_:)`` to create the usual types.
public struct BrowserDocument: Sendable, Hashable {
    /// The media type, from 1 to 128 bytes of printable ASCII. A document with the type `text/html` is a page.
    public let contentType: String
    /// The content, at most 1 MiB long. For a page, the limit includes the script tag that the engine adds.
    public let body: [UInt8]

    /// Creates a document with the given content.
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

    /// Whether the document is a page. The bridge is added only to pages.
    var isPage: Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.split(separator: " ").elementsEqual(["text/html"])
    }
}

extension BrowserConfiguration {
    /// Checks that every value is in its range and that the values are consistent, without opening a file or a port.
    ///
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration` for the first invalid value, with advice on how to fix
    ///   it.
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
    /// The action name of every message from a page. The server does not parse the content of these messages.
    static let frame: ActionName = "frame"

    /// Returns the configuration for the underlying WebSocket server.
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
        // Reading resumes once half of the connection window is free. With this size, half is always free while a page
        // stays within its own window.
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
