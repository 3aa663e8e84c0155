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
