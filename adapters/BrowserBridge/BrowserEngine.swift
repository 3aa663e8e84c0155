import AdapterSupport
public import JSBridge
public import Logging
public import SignalboxCore
public import WebSocketChat

/// An adapter for pages in ordinary browsers.
///
/// The engine serves pages and adds the bridge to them, or pages of other origins load its script. Their scripts call
/// plugins as they would in a web view. Use this engine where users have a browser and nothing can be installed. It
/// cannot decide navigation.
///
/// A page has one connection, which carries its calls and their outcomes at most once. When the connection is lost, the
/// page rejects its calls in flight with `closed` and reconnects as another `PageHandle`.
///
/// **Identity.** The header `Origin` names the origin of the page only if a browser sent it, because any program that
/// has the token can connect. A page that this engine serves is a main frame, because browsers do not let other sites
/// frame it. Such a page can still frame its own content, which has the same rights as the page. For a page of another
/// origin, the engine reports `isMainFrame` as unknown.
public final class BrowserEngine: Adapter {
    /// The configuration passed to the initializer.
    public let configuration: BrowserConfiguration
    private let server: WebSocketServer
    private let directory: PageDirectory
    private let token: Secret
    private let log: AdapterLog

    /// Creates an engine, which serves pages when it is run.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - logger: The logger for refusals and for violations of the protocol by pages. It never receives messages or
    ///     the token.
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration`.
    public init(_ configuration: BrowserConfiguration, logger: Logger) throws(BrowserBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        token = configuration.token ?? .text(SessionToken.random())
        directory = PageDirectory(configuration)
        log = AdapterLog(logger, source: configuration.source)
        do throws(WebSocketChatError) {
            server = try WebSocketServer(configuration.server(token: token), logger: logger)
        } catch {
            throw BrowserBridgeError(error, source: configuration.source)
        }
    }

    /// The source that the configuration names.
    public var source: SourceName { configuration.source }

    /// The engine supports replies and pushes. Browsers do not let it decide navigation.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The connected pages in the order in which they connected. Use these to push messages to pages.
    public var pages: [PageHandle] { directory.handles }

    /// The counters of connections and refusals since the engine was created.
    public var counts: WebSocketServerCounts { server.counts }

    /// Returns the URL of a page, with the token in its fragment.
    ///
    /// Browsers never send the fragment, and the page removes it immediately. The URL grants access, so give it only to
    /// the user for whom it is meant, and never log it. This method waits until a run listens.
    ///
    /// - Parameter path: The path of the page, with its query if there is one. The default is `/`.
    /// - Returns: The URL, or `nil` if the run has ended, possibly before it listened, or if the caller is cancelled.
    /// - Throws: ``BrowserBridgeError`` `secretUnavailable`, `invalidConfiguration` or `noResources` if the configured
    ///   token cannot be read or has an invalid length.
    public func url(_ path: String = "/") async throws(BrowserBridgeError) -> String? {
        guard let port = await port() else { return nil }
        let scheme = configuration.identity == nil ? "http" : "https"
        return "\(scheme)://\(configuration.hostInURL):\(port)\(path)#\(try await fragment())"
    }

    /// Returns the fragment with the token, without the `#`.
    ///
    /// Use this to build the URL of a page of another origin.
    ///
    /// - Throws: The same errors as ``url(_:)``.
    public func fragment() async throws(BrowserBridgeError) -> String {
        "signalbox=\(try await SessionToken.read(token, source: source))"
    }

    /// Returns the port that the engine listens on, even if the system has chosen it. This method waits until a run
    /// listens.
    ///
    /// - Returns: The port, or `nil` if the run has ended, possibly before it listened, or if the caller is cancelled.
    public func port() async -> UInt16? { await server.port() }

    /// Serves pages until its task is cancelled or the intake closes. One run may follow another, with the same token,
    /// but two cannot overlap.
    ///
    /// Cancellation stops the engine gracefully. The engine accepts no new page, stops reading, and sends the outcome
    /// of every arrival that it has taken. It then notifies the pages, which reject their remaining calls with `drain`
    /// and try to reconnect.
    ///
    /// - Throws: ``BrowserBridgeError`` `alreadyRunning`, `secretUnavailable`, `invalidConfiguration` if the token has
    ///   an invalid length, `notListening`, `noResources`.
    public func run(into intake: any Intake) async throws {
        _ = try await SessionToken.read(token, source: source)
        do {
            try await server.run(into: PageIntake(intake, directory, configuration, log))
        } catch let error as WebSocketChatError {
            // If a run is in progress, the pages belong to that run.
            if error.code != .alreadyRunning { directory.closeAll() }
            throw BrowserBridgeError(error, source: source)
        }
        directory.closeAll()
    }
}

/// The error thrown when a ``BrowserEngine`` cannot serve pages. It never contains a secret.
public typealias BrowserBridgeError = JSBridgeError

extension JSBridgeError.Code {
    /// The token could not be read from its source.
    public static let secretUnavailable = JSBridgeError.Code(rawValue: "secretUnavailable")
    /// The engine cannot listen: the port is in use, the address is not local, or the certificate is unusable.
    public static let notListening = JSBridgeError.Code(rawValue: "notListening")
}

extension JSBridgeError {
    /// Creates the engine's error from an error of its WebSocket server, whose codes have the same names.
    init(_ error: WebSocketChatError, source: SourceName) {
        self.init(Code(rawValue: error.code.rawValue), error.detail, source: source)
    }
}
