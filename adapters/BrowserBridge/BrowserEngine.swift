import AdapterThreads
public import JSBridge
public import Logging
public import SignalboxCore
public import WebSocketChat

/// Pages in anyone's browser: it serves them, or those of other origins load its script, and they call plugins as they
/// would in a web view. Nothing is installed, and nothing of the browser is under control: navigation is not asked about.
///
/// A page has one connection, by which its calls and their outcomes go, at most once. When that is lost, its calls in
/// flight are rejected with `closed`, and it connects again as another `PageHandle`.
///
/// **Who speaks.** The header `Origin` says of which origin a page is, as far as it comes from a browser: whoever has the
/// token can be another program. A page that this engine serves is the main frame, as browsers frame none of them: only
/// such frames remain as the page itself makes of its own content, and what these may do the page may do. Of a page of
/// another origin the engine cannot tell, and says that it does not know.
public final class BrowserEngine: Adapter {
    /// What the engine was made with.
    public let configuration: BrowserConfiguration
    private let server: WebSocketServer
    private let directory: PageDirectory
    private let token: Secret
    private let log: AdapterLog

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of refusals and of pages that broke a rule; never of messages and of the token.
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration`.
    public init(_ configuration: BrowserConfiguration, logger: Logger) throws(BrowserBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        token = configuration.token ?? .text(SessionToken.made())
        directory = PageDirectory(configuration)
        log = AdapterLog(logger, source: configuration.source)
        do throws(WebSocketChatError) {
            server = try WebSocketServer(configuration.server(showing: token), logger: logger)
        } catch {
            throw BrowserBridgeError(error, source: configuration.source)
        }
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Every call is answered, and the program can send unasked. Browsers ask nobody about navigation.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The pages that are connected now, in the order in which they did: for what is sent unasked.
    public var pages: [PageHandle] { directory.handles }

    /// What was counted of connections and refusals since the engine was made.
    public var counts: WebSocketServerCounts { server.counts }

    /// The address of a page with the token in its fragment, which browsers send nowhere and the page removes from it at
    /// once. Whoever opens it is let in: give it to the one user that it is for, and write it into no log.
    ///
    /// Waits until a run listens.
    ///
    /// - Parameter path: the page's, `/` by default, with a query where there is one.
    /// - Returns: `nil` when the run has ended, or ended before it listened, and when the caller is cancelled.
    /// - Throws: ``BrowserBridgeError`` `secretUnavailable`, `invalidConfiguration` or `noResources` when the configured
    ///   token cannot be read or is too short or too long.
    public func url(_ path: String = "/") async throws(BrowserBridgeError) -> String? {
        guard let port = await port() else { return nil }
        let scheme = configuration.identity == nil ? "http" : "https"
        return "\(scheme)://\(configuration.hostInURL):\(port)\(path)#\(try await fragment())"
    }

    /// The fragment with the token, without the `#`: for the address of a page of another origin.
    ///
    /// - Throws: as ``url(_:)``.
    public func fragment() async throws(BrowserBridgeError) -> String {
        "signalbox=\(try await SessionToken.read(token, source: source))"
    }

    /// The port it listens on, also where 0 was asked for; waits until a run listens.
    ///
    /// - Returns: `nil` when the run has ended, or ended before it listened, and when the caller is cancelled.
    public func port() async -> UInt16? { await server.port() }

    /// Serves pages until its task is cancelled or the intake closes.
    ///
    /// Cancellation is the graceful stop: nobody new is let in, nothing more is read, what was taken is waited for and
    /// answered, then the pages are told: their calls that were not taken are rejected with `drain`, and they try to
    /// connect again. One run at a time; a run can follow a run, with the same token.
    ///
    /// - Throws: ``BrowserBridgeError`` `alreadyRunning`, `secretUnavailable`, `invalidConfiguration` when the token is too
    ///   short or too long, `notListening`, `noResources`.
    public func run(into intake: any Intake) async throws {
        _ = try await SessionToken.read(token, source: source)
        do {
            try await server.run(into: PageIntake(intake, directory, configuration, log))
        } catch let error as WebSocketChatError {
            // Another run's pages stay.
            if error.code != .alreadyRunning { directory.closeAll() }
            throw BrowserBridgeError(error, source: source)
        }
        directory.closeAll()
    }
}

/// Why pages in browsers cannot be served. Never contains a secret.
public struct BrowserBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidConfiguration, secretUnavailable, alreadyRunning, notListening, noResources
        }
        private let word: Word

        /// A value of the configuration is out of its range, or two do not go together.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// The token could not be read from where it is kept.
        public static let secretUnavailable = Code(word: .secretUnavailable)
        /// The engine runs already.
        public static let alreadyRunning = Code(word: .alreadyRunning)
        /// It cannot listen: the port is taken, the address is not this machine's, or its certificate is unusable.
        public static let notListening = Code(word: .notListening)
        /// The system gave no thread, no descriptor or no memory.
        public static let noResources = Code(word: .noResources)

        /// The word used in logs, such as `notListening`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The source it is about.
    public let source: SourceName
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// The source and the detail.
    public var description: String { "source \(source): \(detail)" }
}

extension BrowserBridgeError {
    /// What the server of the pages says, as the engine's.
    init(_ error: WebSocketChatError, source: SourceName) {
        let codes: [WebSocketChatError.Code: Code] = [
            .secretUnavailable: .secretUnavailable, .alreadyRunning: .alreadyRunning, .notListening: .notListening,
            .noResources: .noResources,
        ]
        self.init(codes[error.code] ?? .invalidConfiguration, error.detail, source: source)
    }
}
