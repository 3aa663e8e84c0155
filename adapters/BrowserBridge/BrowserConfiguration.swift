import AdapterThreads
public import SignalboxCore
public import SignalboxRoutes
public import WebSocketChat

/// Pages in browsers: what is served to them, who may connect, and the bounds.
public struct BrowserConfiguration: Sendable {
    /// Where ``documents`` cannot be: the script that gives a page its bridge. Each page of ``documents`` has a tag for it;
    /// a page of another origin loads it by its whole URL, as a classic script.
    public static let scriptPath = "/signalbox.js"
    /// Where pages connect to.
    static let socketPath = "/signalbox"

    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// A numeric address of this machine, IPv6 without brackets; `127.0.0.1` by default, which nobody else can reach.
    public var address = "127.0.0.1"
    /// 0, the default, lets the system choose; ``BrowserEngine/url(_:)`` tells.
    public var port: UInt16 = 0
    /// The host by which browsers reach it, as it stands in a URL; `nil`, the default: ``address``. Needed where that is
    /// every address of the machine, and where a certificate names another. The origin of the pages that are served is made
    /// of it: nobody else may serve pages under this name and port.
    public var host: String?
    /// The server's certificate; `nil`, the default: without TLS.
    public var identity: WebSocketIdentity?
    /// What is served, by path, at most 99 documents of together 16 MiB. Anybody who reaches the port gets them: they are no
    /// place for secrets.
    ///
    /// A page gets the bridge as the first script of its head. It can load scripts, styles, images and data from this site
    /// alone, and is framed nowhere.
    public var documents: [String: BrowserDocument] = [:]
    /// Whether scripts and styles that stand in a page itself work; `false` by default. Whoever can put text into such a
    /// page without it being escaped speaks in its name.
    public var allowsInlineCode = false
    /// The origins whose pages may connect besides those that are served, at most 1,000; none by default. Whether such a
    /// page is in a frame is not known.
    public var origins: [WebOrigin] = []
    /// What a page must show, 16 to 73 bytes; `nil`, the default: 128 random bits that are made with the engine.
    /// ``BrowserEngine/url(_:)`` puts it into the address.
    public var token: Secret?
    /// How many pages may be connected, 1 to 100,000; 100 by default. Further ones try again until there is room.
    public var connections = 100
    /// How many messages of one page may be without an outcome, 1 to 4,000; 64 by default. Further ones wait in the page.
    public var messagesInFlight = 64
    /// How many messages of one page may be without an outcome or wait for that in the page, 1 to 1,000,000; 10,000 by
    /// default. A call beyond it is rejected with `full` in the page.
    public var messagesWaitingInPage = 10_000
    /// How long a call waits in the page for a connection, 1 ms to 1 h; 10 s by default. Then it is rejected with `closed`.
    public var connectionPatience: Duration = .seconds(10)
    /// The longest wait before a page connects again, 1 ms to 1 h; 10 s by default. The first is at most a quarter of a
    /// second, and each is drawn at random.
    public var reconnectCap: Duration = .seconds(10)
    /// How many calls of the program one page may owe an answer, 1 to 1,000,000; 1,000 by default. Beyond it a `PageHandle`
    /// answers `full`.
    public var messagesToPage = 1_000
    /// The most messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000; 256 by default. Beyond it
    /// the oldest is dropped, which the browser's console tells; a call that waited for an answer gets an error.
    public var messagesWithoutListener = 256
    /// The bounds of one message, either way; at most 1 MiB less than 1 GiB.
    public var limits = MessageLimits()
    /// How many bytes may wait to be sent to one page, 1 KiB to 1 GiB; 1 MiB by default. A page that reads too slowly for
    /// that loses its connection.
    public var waitingBytes = 1_048_576
    /// How many bytes may wait to be sent to all pages, at least ``waitingBytes`` and at most 64 GiB; 64 MiB by default.
    /// Beyond it the page for which most wait loses its connection.
    public var allWaitingBytes = 67_108_864

    /// Pages that only browsers of this machine can reach.
    public init(source: SourceName, documents: [String: BrowserDocument] = [:]) {
        self.source = source
        self.documents = documents
    }
}

/// A document of a site that is served to browsers.
public struct BrowserDocument: Sendable, Hashable {
    /// Such as `text/html; charset=utf-8`; 1 to 128 bytes of printable ASCII. A document of type `text/html` is a page.
    public let contentType: String
    /// At most 1 MiB, for a page with what is added to it.
    public let body: [UInt8]

    /// A document as given.
    public init(contentType: String, body: [UInt8]) {
        self.contentType = contentType
        self.body = body
    }

    /// A page.
    public static func page(_ html: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/html; charset=utf-8", body: Array(html.utf8))
    }

    /// A script that pages load.
    public static func script(_ source: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/javascript; charset=utf-8", body: Array(source.utf8))
    }

    /// A style sheet that pages load.
    public static func style(_ sheet: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/css; charset=utf-8", body: Array(sheet.utf8))
    }

    /// Whether it is a page, which gets the bridge.
    var isPage: Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.split(separator: " ").elementsEqual(["text/html"])
    }
}

extension BrowserConfiguration {
    /// Checks every range, and that the values go together. Opens no file and no port.
    ///
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(BrowserBridgeError) {
        guard host != nil || !["::", "0.0.0.0"].contains(address) else {
            throw fault("\(address) is every address of the machine: name the host by which browsers reach it")
        }
        guard (1...100_000).contains(connections) else { throw fault("the connections are 1 to 100000") }
        guard (1...4_000).contains(messagesInFlight) else { throw fault("the messages in flight are 1 to 4000") }
        guard (1...1_000_000).contains(messagesWaitingInPage) else {
            throw fault("the messages waiting in a page are 1 to 1000000")
        }
        guard (1...1_000_000).contains(messagesToPage) else { throw fault("the messages to a page are 1 to 1000000") }
        guard (1...1_000_000).contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
        for (name, duration) in [("patience", connectionPatience), ("longest wait", reconnectCap)]
        where !(Duration.milliseconds(1) ... .seconds(3_600)).contains(duration) {
            throw fault("a page's \(name) for a connection is 1 ms to 1 h")
        }
        guard limits.bytes <= 1 << 30 - 1 << 20 else {
            throw fault("the limit of a message is at most 1 MiB less than 1 GiB")
        }
        guard documents.count <= 99 else { throw fault("a site has at most 99 documents") }
        guard documents[BrowserConfiguration.scriptPath] == nil else {
            throw fault("a document stands where the bridge is, at \(BrowserConfiguration.scriptPath); move it")
        }
    }

    func fault(_ detail: String) -> BrowserBridgeError {
        BrowserBridgeError(.invalidConfiguration, detail, source: source)
    }
}

extension BrowserConfiguration {
    /// The one action that a page's message is to the server, which reads no further.
    static let frame: ActionName = "frame"

    /// What the server of the pages is told.
    ///
    /// - Parameter token: what a page must show.
    func server(showing token: Secret) -> WebSocketServerConfiguration {
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
        // A page that keeps to its own window is always read, as reading begins again when half of this one is free.
        server.connectionWindow = 2 * messagesInFlight + 2
        server.waitingBytes = waitingBytes
        server.allWaitingBytes = allWaitingBytes
        server.pages = pages
        server.healthPath = nil
        return server
    }

    /// As it stands in a URL.
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
