import AdapterSupport
public import JSBridge
public import Logging
public import SignalboxCore
public import WebSocketChat

/// An adapter for pages in ordinary browsers. It serves the pages, or pages of other origins load its script. The pages
/// call plugins as they would in a web view. Nothing is installed, and the engine cannot decide navigation.
///
/// A page has one connection, which carries its calls and their outcomes at most once. When the connection is lost, the
/// page rejects its calls in flight with `closed` and reconnects as another `PageHandle`.
///
/// **Identity.** The header `Origin` names the page's origin, provided that a browser sent it: any program that has the
/// token can connect. A page served by this engine is a main frame, because browsers do not let other sites frame it. A
/// page can still frame its own content, which has the same rights as the page. For a page of another origin, the
/// engine reports `isMainFrame` as unknown.
public final class BrowserEngine: Adapter {
    /// The configuration passed to the initializer.
    public let configuration: BrowserConfiguration
    private let server: WebSocketServer
    private let directory: PageDirectory
    private let token: Secret
    private let log: AdapterLog

    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - logger: Receives refusals and protocol violations by pages, never messages or the token.
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

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Replies and pushes. Browsers do not let the engine decide navigation.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The connected pages in order of connection, for pushes.
    public var pages: [PageHandle] { directory.handles }

    /// The counts of connections and refusals since the engine was created.
    public var counts: WebSocketServerCounts { server.counts }

    /// Returns the URL of a page, with the token in its fragment. Browsers never send the fragment, and the page
    /// removes it immediately. The URL grants access: give it only to the user for whom it is meant, and never log it.
    ///
    /// Waits until a run listens.
    ///
    /// - Parameter path: The page's path, with its query if there is one; `/` by default.
    /// - Returns: The URL, or `nil` if the run has ended, possibly before it listened, or if the caller is cancelled.
    /// - Throws: ``BrowserBridgeError`` `secretUnavailable`, `invalidConfiguration` or `noResources` if the configured
    ///   token cannot be read or has an invalid length.
    public func url(_ path: String = "/") async throws(BrowserBridgeError) -> String? {
        guard let port = await port() else { return nil }
        let scheme = configuration.identity == nil ? "http" : "https"
        return "\(scheme)://\(configuration.hostInURL):\(port)\(path)#\(try await fragment())"
    }

    /// Returns the fragment with the token, without the `#`, for the URL of a page of another origin.
    ///
    /// - Throws: The same errors as ``url(_:)``.
    public func fragment() async throws(BrowserBridgeError) -> String {
        "signalbox=\(try await SessionToken.read(token, source: source))"
    }

    /// Returns the listening port, including one chosen by the system. Waits until a run listens.
    ///
    /// - Returns: The port, or `nil` if the run has ended, possibly before it listened, or if the caller is cancelled.
    public func port() async -> UInt16? { await server.port() }

    /// Serves pages until its task is cancelled or the intake closes.
    ///
    /// Cancellation is the graceful stop. The engine accepts no new page, stops reading, and sends the outcome of every
    /// arrival taken. Then it notifies the pages, which reject their remaining calls with `drain` and try to reconnect.
    /// One run at a time; the engine can run again, with the same token.
    ///
    /// - Throws: ``BrowserBridgeError`` `alreadyRunning`, `secretUnavailable`, `invalidConfiguration` if the token has
    ///   an invalid length, `notListening`, `noResources`.
    public func run(into intake: any Intake) async throws {
        _ = try await SessionToken.read(token, source: source)
        do {
            try await server.run(into: PageIntake(intake, directory, configuration, log))
        } catch let error as WebSocketChatError {
            // The pages belong to the run in progress.
            if error.code != .alreadyRunning { directory.closeAll() }
            throw BrowserBridgeError(error, source: source)
        }
        directory.closeAll()
    }
}

/// The reason a ``BrowserEngine`` cannot serve pages. Never contains a secret.
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
