import Signalbox
import SignalboxRoutes
import WebSocketChat

/// The console of a running program.
struct ObservedConsole: Sendable {
    let service: ConsoleService
    /// Whether it only shows.
    let isReadOnly: Bool
}

/// Receives the requests. Only the listener's thread uses it.
final class ObservationReceiver: HTTPRequestReceiver {
    private enum Asked {
        case observation(ObservationEndpoint, showsAll: Bool)
        case console(ConsoleEndpoint, query: [String], ObservedConsole)
    }

    private struct Question {
        let asked: Asked
        /// When the answer is due, once the request is complete.
        var deadline: ContinuousClock.Instant?
    }

    private let observation: Observation
    private let access: ObservationAccess
    private let console: ObservedConsole?
    private let answerer: any HTTPAnswerer
    private var questions: [HTTPExchangeID: Question] = [:]
    private let room = QuestionRoom(limit: 16)
    /// The console must not keep others from asking.
    private let consoleRoom = QuestionRoom(limit: 8)
    private var guesses = GuessLimiter()
    /// Wrong tokens for the console must not keep Prometheus out.
    private var consoleGuesses = GuessLimiter()

    /// How long an answer to the console may take. Plugins that it calls may take some time.
    private static let consoleLimit = Duration.seconds(30)

    init(
        _ observation: Observation,
        _ access: ObservationAccess,
        _ console: ObservedConsole?,
        answerer: any HTTPAnswerer
    ) {
        (self.observation, self.access) = (observation, access)
        (self.console, self.answerer) = (console, answerer)
    }

    var headerNames: [String] { ObservationAccess.headerNames }

    func route(for path: String) -> (pattern: URLPattern, url: URLText)? {
        ObservationEndpoint(rawValue: path)?.route ?? console.flatMap { _ in ConsoleEndpoint(rawValue: path)?.route }
    }

    func began(_ request: HTTPServerRequest, _ exchange: HTTPExchangeID) -> HTTPRequestDecision {
        if let console, let endpoint = ConsoleEndpoint(rawValue: request.path) {
            return began(request, exchange, endpoint, console)
        }
        guard let endpoint = ObservationEndpoint(rawValue: request.path) else { return .answer(missing) }
        if let answer = ObservationReceiver.refusal(of: request, method: "GET") { return .answer(answer) }
        if let refusal = access.refusal(of: request) { return .answer(HTTPAnswer(403, "Refused: \(refusal).")) }
        let refusal = tokenRefusal(of: request, &guesses)
        if let refusal, endpoint == .metrics { return .answer(refusal) }
        questions[exchange] = Question(asked: .observation(endpoint, showsAll: refusal == nil))
        return .read(limit: 0)
    }

    private func began(
        _ request: HTTPServerRequest,
        _ exchange: HTTPExchangeID,
        _ endpoint: ConsoleEndpoint,
        _ console: ObservedConsole
    ) -> HTTPRequestDecision {
        if let answer = ObservationReceiver.refusal(of: request, method: endpoint.method) { return .answer(answer) }
        if let refusal = access.refusal(of: request, for: endpoint) {
            return .answer(HTTPAnswer(403, "Refused: \(refusal)."))
        }
        if let document = endpoint.document { return .answer(document) }
        if let refusal = tokenRefusal(of: request, &consoleGuesses) { return .answer(refusal) }
        guard endpoint.isReadOnly || !console.isReadOnly else {
            return .answer(HTTPAnswer(403, "Refused: the console is read_only."))
        }
        questions[exchange] = Question(asked: .console(endpoint, query: request.query, console))
        return .read(limit: endpoint.bodyLimit)
    }

    private static func refusal(of request: HTTPServerRequest, method: String) -> HTTPAnswer? {
        let isAllowed = request.method == method || (method == "GET" && request.method == "HEAD")
        let allowed = method == "GET" ? "GET, HEAD" : method
        return isAllowed ? nil : HTTPAnswer(405, "Use \(method).", headers: [("Allow", allowed)])
    }

    /// Returns the answer to a request without the token, or `nil` if it has the token or needs none.
    private func tokenRefusal(of request: HTTPServerRequest, _ guesses: inout GuessLimiter) -> HTTPAnswer? {
        guard !access.tokens.isEmpty else { return nil }
        guard !guesses.isBlocked(request.quotaAddress) else {
            let text = "Too many wrong tokens; wait a minute."
            return HTTPAnswer(429, text, headers: [("Retry-After", "60")])
        }
        guard !access.isAuthorized(request) else { return nil }
        if request.headers["authorization"] != nil { guesses.failed(request.quotaAddress) }
        let challenge = [("WWW-Authenticate", "Bearer realm=\"signalbox\"")]
        return HTTPAnswer(401, "Send the token of 'observe'.", headers: challenge)
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
        let (isAsked, limit) = ask(question.asked, exchange, body)
        questions[exchange]?.deadline = .now + limit
        guard !isAsked else { return }
        questions[exchange] = nil
        let text = "Too many questions are waiting for an answer."
        answerer.answer(exchange, HTTPAnswer(503, text, headers: [("Retry-After", "1")]))
    }

    /// Asks where plugins run, so that the answer also shows whether those threads work.
    ///
    /// - Returns: Whether there is room for the question, and how long the answer may take.
    private func ask(_ asked: Asked, _ exchange: HTTPExchangeID, _ body: [UInt8]) -> (isAsked: Bool, limit: Duration) {
        let answer: @Sendable (HTTPAnswer) -> Void = { [answerer] in answerer.answer(exchange, $0) }
        switch asked {
        case .observation(let endpoint, let showsAll):
            // Other questions must not keep the program from saying that it is alive.
            let isAsked = room.ask(
                isUrgent: endpoint == .healthz,
                { [observation] in
                    observation.answer(endpoint, showsAll: showsAll)
                },
                answer
            )
            return (isAsked, endpoint.answerLimit)
        case .console(let endpoint, let query, let console):
            let isAsked = consoleRoom.ask(
                {
                    await console.service.answer(endpoint, query, body, isReadOnly: console.isReadOnly)
                },
                answer
            )
            return (isAsked, ObservationReceiver.consoleLimit)
        }
    }

    func ended(_ exchange: HTTPExchangeID) { questions[exchange] = nil }

    func ticked() {
        let now = ContinuousClock.now
        for (exchange, question) in questions {
            guard let deadline = question.deadline, now >= deadline else { continue }
            questions[exchange] = nil
            let limit =
                if case .observation(let endpoint, _) = question.asked { endpoint.answerLimit } else {
                    ObservationReceiver.consoleLimit
                }
            answerer.answer(
                exchange,
                HTTPAnswer(503, "The threads that run plugins have not answered within \(limit).")
            )
        }
    }

    func refused(status: Int, from address: String, reason: String) {}
    func listens(on port: UInt16) {}
    func passEnded() {}
    func descriptorsExhausted() {}
    func evicted() {}
    func limitReached() {}
}
