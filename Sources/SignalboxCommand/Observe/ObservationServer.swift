import AdapterSupport
import Dispatch
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Answers `/metrics`, `/healthz` and `/readyz` on a listener.
final class ObservationServer: Sendable {
    private let section: ObserveSection
    private let listener: WebListener
    private let observation: Observation
    private let logger: Logger

    init(_ section: ObserveSection, on listener: WebListener, _ observation: Observation, logger: Logger) {
        (self.section, self.listener, self.observation, self.logger) = (section, listener, observation, logger)
    }

    /// Begins to answer. Detach the result to end.
    ///
    /// - Throws: ``CommandFailure`` if the token cannot be read or the port is not free.
    func start() async throws(CommandFailure) -> ListenerAttachment {
        let access = ObservationAccess(
            tokens: try await readToken(),
            isLocal: WebSocketServerConfiguration.isLocal(section.listener.configuration.address),
            isShared: section.listener.name != nil
        )
        do throws(WebSocketChatError) {
            let attachment = try await listener.attach(isAuxiliary: true) { [observation] in
                ObservationReceiver(observation, access, answerer: $0)
            }
            logger.info("observe: listening on \(section.listener.configuration.url(port: attachment.port))/")
            return attachment
        } catch {
            throw CommandFailure(.cannotListen, "observe: \(error.detail)")
        }
    }

    private func readToken() async throws(CommandFailure) -> PrincipalTokens {
        let holder = section.token.map { [WebSocketPrincipal("observe", token: $0)] } ?? []
        // Reading a file may block, and this runs on the cooperative pool.
        let result = await FileContent.waiting(on: DispatchQueue(label: "signalbox.observe")) {
            Result { () throws(WebSocketChatError) in try PrincipalTokens(reading: holder) }
        }
        do throws(WebSocketChatError) { return try result.get() } catch {
            throw CommandFailure(.invalidConfiguration, "observe: \(error.detail)")
        }
    }
}

/// Who may ask.
struct ObservationAccess: Sendable {
    static let headerNames = ["host", "authorization", "origin", "sec-fetch-site"]

    /// The token that shows everything. Empty if no token is needed.
    let tokens: PrincipalTokens
    /// Whether only this machine reaches the listener.
    let isLocal: Bool
    /// Whether sources may have the same listener.
    let isShared: Bool

    /// Returns why a request is refused, or `nil` if it is not. No page may learn anything through a browser that reaches the
    /// listener, not even if the page's owner points a host name at this machine.
    func refusal(of request: HTTPServerRequest) -> String? {
        if let origin = request.headers["origin"], !origin.isEmpty { return "pages may not ask" }
        if let site = request.headers["sec-fetch-site"], site != "none" { return "pages may not ask" }
        guard isLocal || tokens.isEmpty, let host = request.headers["host"] else { return nil }
        let name = ObservationAccess.name(ofHost: host)
        return NumericAddress(name) != nil || name.lowercased() == "localhost"
            ? nil : "the Host must be an address, or a token must be required"
    }

    /// Whether the request has the token, if one is needed.
    func isAuthorized(_ request: HTTPServerRequest) -> Bool {
        guard !tokens.isEmpty else { return true }
        guard let header = request.headers["authorization"], let stated = BearerToken.credentials(header) else {
            return false
        }
        return tokens.principal(presenting: stated) != nil
    }

    /// Returns the host of `HOST:PORT`, an IPv6 address without brackets.
    private static func name(ofHost host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }
}

/// Receives the requests. Only the listener's thread uses it.
private final class ObservationReceiver: HTTPRequestReceiver {
    private struct Question {
        let endpoint: ObservationEndpoint
        let isAuthorized: Bool
        /// When the answer is due, once the request is complete.
        var deadline: ContinuousClock.Instant?
    }

    private let observation: Observation
    private let access: ObservationAccess
    private let answerer: any HTTPAnswerer
    private var questions: [HTTPExchangeID: Question] = [:]

    init(_ observation: Observation, _ access: ObservationAccess, answerer: any HTTPAnswerer) {
        (self.observation, self.access, self.answerer) = (observation, access, answerer)
    }

    var headerNames: [String] { ObservationAccess.headerNames }

    func route(for path: String) -> (pattern: URLPattern, url: URLText)? {
        ObservationEndpoint(rawValue: path)?.route
    }

    func began(_ request: HTTPServerRequest, _ exchange: HTTPExchangeID) -> HTTPRequestDecision {
        guard let endpoint = ObservationEndpoint(rawValue: request.path) else {
            return .answer(missing)
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return .answer(HTTPAnswer(405, "Use GET.", headers: [("Allow", "GET, HEAD")]))
        }
        if let refusal = access.refusal(of: request) { return .answer(HTTPAnswer(403, "Refused: \(refusal).")) }
        let isAuthorized = access.isAuthorized(request)
        guard isAuthorized || endpoint != .metrics else {
            let challenge = [("WWW-Authenticate", "Bearer realm=\"signalbox\"")]
            return .answer(HTTPAnswer(401, "Send the token of 'observe'.", headers: challenge))
        }
        questions[exchange] = Question(endpoint: endpoint, isAuthorized: isAuthorized)
        return .read(limit: 0)
    }

    /// The answer at any other path. A source that is about to have it, or has just left, must not be taken to be missing.
    private var missing: HTTPAnswer {
        guard access.isShared else {
            return HTTPAnswer(404, "There is nothing here; see /metrics, /healthz and /readyz.")
        }
        guard observation.isChanging else { return HTTPAnswer(404, "There is nothing here.") }
        return HTTPAnswer(503, "The program is starting or ending.", headers: [("Retry-After", "1")])
    }

    func completed(_ exchange: HTTPExchangeID, body: [UInt8]) {
        guard let question = questions[exchange] else { return }
        questions[exchange]?.deadline = .now + question.endpoint.answerLimit
        // The answer is made where plugins run, so that it also shows whether those threads work.
        let isAsked = observation.ask(question.endpoint, showsAll: question.isAuthorized) { [answerer] in
            answerer.answer(exchange, $0)
        }
        guard !isAsked else { return }
        questions[exchange] = nil
        let text = "\(Observation.questionLimit) questions are waiting for an answer."
        answerer.answer(exchange, HTTPAnswer(503, text, headers: [("Retry-After", "1")]))
    }

    func ended(_ exchange: HTTPExchangeID) { questions[exchange] = nil }

    func ticked() {
        let now = ContinuousClock.now
        for (exchange, question) in questions {
            guard let deadline = question.deadline, now >= deadline else { continue }
            questions[exchange] = nil
            let text = "The threads that run plugins have not answered within \(question.endpoint.answerLimit)."
            answerer.answer(exchange, HTTPAnswer(503, text))
        }
    }

    func refused(status: Int, from address: String, reason: String) {}
    func listens(on port: UInt16) {}
    func passEnded() {}
    func descriptorsExhausted() {}
    func evicted() {}
    func limitReached() {}
}
