#if WebSocket
import AdapterSupport
public import JSBridge
public import Logging
public import SignalboxCore
public import WebSocketChat

/// An adapter for pages in ordinary browsers.
///
/// The engine serves pages and adds the bridge to them. Pages from other origins can load the bridge script themselves.
/// Scripts in either kind of page call plugins just as they would in a web view. Use this engine where users have a
/// browser and nothing can be installed. It cannot decide navigation.
///
/// A page has one connection, which carries its calls and their outcomes at most once. When the connection is lost, the
/// page rejects its calls in flight with `closed`, and reconnects as a new `PageHandle`.
///
/// **Identity.** Any program that has the token can connect, so the `Origin` header proves the page's origin only if a
/// browser sent it. A page served by this engine is a main frame, because browsers do not let other sites frame it.
/// Such a page can still frame its own content, which has the same rights as the page. For a page from another origin,
/// the engine reports `isMainFrame` as unknown.
public final class BrowserEngine: Adapter {
    /// The configuration passed to the initializer.
    public let configuration: BrowserConfiguration
    private let server: WebSocketServer
    private let directory: PageDirectory
    private let token: Secret
    private let log: AdapterLog

    /// Creates an engine, which starts serving pages when you run it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - logger: The logger for refusals and for protocol violations by pages. Messages and the token are never
    ///     logged.
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

    /// The source named in the configuration.
    public var source: SourceName { configuration.source }

    /// The supported features, which are replies and pushes. Browsers do not let the engine decide navigation.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The connected pages, in the order in which they connected. Use them to push messages to pages.
    public var pages: [PageHandle] { directory.handles }

    /// The connections and refusals counted since the engine was created.
    public var counts: WebSocketServerCounts { server.counts }

    /// Returns the URL of a page, with the token in its fragment. This method waits until the engine is listening.
    ///
    /// Browsers never send the fragment, and the page removes it immediately. Anyone with the URL has access, so give
    /// it only to the user it is meant for, and never log it.
    ///
    /// - Parameter path: The path of the page, including any query. The default is `/`.
    /// - Returns: The URL, or `nil` if the calling task is cancelled or the run has ended, even if the engine never
    ///   listened.
    /// - Throws: ``BrowserBridgeError`` `secretUnavailable`, `invalidConfiguration` or `noResources` if the configured
    ///   token cannot be read or has an invalid length.
    public func url(_ path: String = "/") async throws(BrowserBridgeError) -> String? {
        guard let port = await port() else { return nil }
        let scheme = configuration.identity == nil ? "http" : "https"
        return "\(scheme)://\(configuration.hostInURL):\(port)\(path)#\(try await fragment())"
    }

    /// Returns the URL fragment that contains the token, without the `#`.
    ///
    /// Use this to build the URL of a page from another origin.
    ///
    /// - Throws: The same errors as ``url(_:)``.
    public func fragment() async throws(BrowserBridgeError) -> String {
        "signalbox=\(try await SessionToken.read(token, source: source))"
    }

    /// Returns the port that the engine listens on, even if the system chose it. This method waits until the engine is
    /// listening.
    ///
    /// - Returns: The port, or `nil` if the calling task is cancelled or the run has ended, even if the engine never
    ///   listened.
    public func port() async -> UInt16? { await server.port() }

    /// Serves pages until the task is cancelled or the intake closes.
    ///
    /// After a run has ended, you can run the engine again with the same token. Two runs cannot overlap.
    ///
    /// Cancellation stops the engine gracefully: the engine accepts no more pages, stops reading, and sends the outcome
    /// of every arrival that the intake has taken. It then notifies the pages, which reject their remaining calls with
    /// `drain` and try to reconnect.
    ///
    /// - Throws: ``BrowserBridgeError`` `alreadyRunning`, `secretUnavailable`, `notListening` or `noResources`, and
    ///   `invalidConfiguration` if the token has an invalid length.
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

extension BrowserEngine: RestoringAdapter {
    /// Reads stored messages again, with the current limits. The messages have no `PageHandle`, and the facts that they had
    /// when they arrived.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        PageBatch.restoring(messages, of: source, limits: configuration.limits, at: now)
    }
}
#endif
