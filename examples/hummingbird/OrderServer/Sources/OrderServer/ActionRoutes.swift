import HTTPTypes
import Hummingbird
import NIOCore
import Signalbox
import SignalboxCore

/// What the application knows about a request, for the facts about its caller.
struct ShopContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: String?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress
    }
}

/// The route `POST /actions/{action}`, which submits each request's body as an action and answers with its outcome.
struct ActionRoutes {
    /// The maximum size of a request's body in bytes. It is not larger than the adapter's `MessageLimits`.
    static let bodyLimit = 16_384

    let shop: PushAdapter<CallerFacts>
    /// The token of the principal `shop`, or `nil` if no caller has one.
    let token: String?

    func router() -> Router<ShopContext> {
        let router = Router(context: ShopContext.self)
        router.post("actions/{action}") { request, context in try await respond(to: request, context) }
        return router
    }

    private func respond(to request: Request, _ context: ShopContext) async throws -> Response {
        guard let action = context.parameters.get("action").flatMap({ try? ActionName($0) }) else {
            throw HTTPError(.notFound)
        }
        let facts = try facts(about: request, context)
        // The client may send more than it announced, so the limit holds while the body is read. Beyond it, the answer is 413.
        let body = try await request.body.collect(upTo: Self.bodyLimit)
        let id = request.headers[Self.idempotencyKey].flatMap(ActionID.init)
        // If the client disconnects, Hummingbird cancels this task, and a message that waits is withdrawn.
        let outcome = await shop.submit(action, id: id, body: Bytes(Array(body.readableBytesView)), facts: facts)
        return OutcomeAnswer(outcome, id: id).response
    }

    /// - Throws: 401 if the request has a token that is not known. A request without one has no principal, and the access rules
    ///   decide what it may do.
    private func facts(about request: Request, _ context: ShopContext) throws -> CallerFacts {
        var facts = CallerFacts(peer: context.peer)
        facts.traceparent = request.headers[Self.traceparent]
        facts.tracestate = request.headers[Self.tracestate]
        guard let authorization = request.headers[.authorization] else { return facts }
        guard let token, isEqual(authorization, "Bearer \(token)") else {
            throw HTTPError(.unauthorized, headers: [.wwwAuthenticate: "Bearer"])
        }
        facts.principal = "shop"
        return facts
    }

    /// Takes the same time for each text of the same length, so that the time of an answer tells nothing about the token.
    private func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        return one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    private static let traceparent = HTTPField.Name("traceparent")!
    private static let tracestate = HTTPField.Name("tracestate")!
}
