import AdapterSupport
import NavigationChain

/// A handler that opens nothing. The reason for each decision says what would have been opened.
struct DryRunHandler: NavigationHandler {
    private let handler: any NavigationHandler

    init(_ handler: any NavigationHandler) {
        self.handler = handler
    }

    var name: String { handler.name }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await handler.decide(request).map { NavigationDecision($0.policy, reason: "would be \($0.reason)") }
    }
}

/// A clock on which no deadline ever passes. A sleep ends only when it is cancelled.
///
/// Use this clock with handlers that open nothing, because such handlers never need to wait. `ContinuousClock` would
/// keep each cancelled sleep until its deadline, so a million of them would take up memory.
struct UntimedClock: Clock {
    private let base = ContinuousClock()

    var now: ContinuousClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        _ = await Promise<Void>().valueUnlessCancelled()
        throw CancellationError()
    }
}
