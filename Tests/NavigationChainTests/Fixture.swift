import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport

/// A synchronous handler that records its calls.
struct RecordingHandler: SyncNavigationHandler {
    let name: String
    var calls = EventList<String>()
    var answer: @Sendable (NavigationRequest) throws -> NavigationDecision? = { _ in nil }

    func decide(_ request: NavigationRequest) throws -> NavigationDecision? {
        calls.append(contentsOf: [name])
        return try answer(request)
    }
}

/// A handler that waits at a gate, even when it is cancelled, and then decides.
struct BlockedHandler: NavigationHandler {
    var name = "waiting"
    var deadline: Duration?
    let gate: Gate
    var decision: NavigationDecision? = .allow("late, but allowed")
    var returned = EventList<String>()

    func decide(_ request: NavigationRequest) async -> NavigationDecision? {
        await gate.pass()
        returned.append(contentsOf: [name])
        return decision
    }
}

/// A handler that waits until it is cancelled, and records the cancellation.
struct CancellableHandler: NavigationHandler {
    let name = "cancellable"
    let begun = Gate(isOpen: true)
    let ended = EventList<String>()
    private let never = Watched(false)

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        await begun.pass()
        if await !never.until({ $0 }) { ended.append(contentsOf: ["cancelled"]) }
        throw CancellationError()
    }
}

/// An asynchronous handler that returns at once.
struct ImmediateHandler: NavigationHandler {
    let name: String
    var answer: @Sendable (NavigationRequest) async throws -> NavigationDecision? = { _ in nil }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await answer(request)
    }
}

func request(
    _ text: String,
    kind: NavigationKind = .link,
    frame: FrameRole = .main,
    page: String? = nil
) throws -> NavigationRequest {
    NavigationRequest(url: try URLText(text), kind: kind, frame: frame, page: try page.map { try URLText($0) })
}

/// Returns the code of the error that the work throws, or `nil`.
func code(_ work: () throws -> Void) -> NavigationChainError.Code? {
    do {
        try work()
        return nil
    } catch {
        return (error as? NavigationChainError)?.code
    }
}

extension Duration {
    /// The deadline of handlers in tests of other behavior.
    static let patient: Duration = .seconds(600)
}

extension NavigationDecision {
    static let all = NavigationDecision.allow("everything is allowed")
    static let nothing = NavigationDecision.cancel("no handler allows it")
}
