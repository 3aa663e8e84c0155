import Signalbox
import SignalboxCore
import Synchronization

/// Decides which actions pass so that in no period there are more than the limit. It keeps one time for each action of a period.
struct ThrottleWindow {
    /// What an action may do.
    enum Decision: Equatable {
        /// It may pass after this time, which is zero for now.
        case after(Duration)
        /// It may not pass within the time that it has. It could after this time.
        case refused(retryAfter: Duration)
    }

    private let count: Int
    private let period: Duration
    /// The times of the last actions that passed or will pass. Once there are as many as the limit, the oldest is at ``next``.
    private var times: [ContinuousClock.Instant] = []
    private var next = 0

    init(count: Int, period: Duration) {
        self.count = count
        self.period = period
    }

    /// Decides about an action, which then counts unless it is refused.
    ///
    /// - Parameter longestWait: How long the action can wait.
    mutating func take(at now: ContinuousClock.Instant, longestWait: Duration) -> Decision {
        guard times.count == count else {
            // An action that waits has a later time than one that comes now, so the order of the times is that of the calls.
            times.append(now)
            return .after(.zero)
        }
        let permitted = max(now, times[next] + period)
        guard permitted - now <= longestWait else { return .refused(retryAfter: permitted - now) }
        times[next] = permitted
        next = (next + 1) % count
        return .after(permitted - now)
    }
}

/// A step that hands on a limited number of actions in a period. Safe to use from any thread.
final class ThrottleStep: Sendable {
    private let section: ThrottleSection
    private let window: Mutex<ThrottleWindow>

    init(_ section: ThrottleSection) {
        self.section = section
        window = Mutex(ThrottleWindow(count: section.count, period: section.period))
    }

    /// Waits until the action may pass.
    ///
    /// - Returns: Whether it passes.
    /// - Throws: ``ThrottleFailure``, `ActionRefused`, or `CancellationError` if the call is cancelled.
    func passes(until deadline: ContinuousClock.Instant) async throws -> Bool {
        let now = ContinuousClock.now
        let longest = section.excess == .wait ? max(.zero, deadline - now) : .zero
        switch window.withLock({ $0.take(at: now, longestWait: longest) }) {
        case .after(.zero): return true
        case .after(let wait):
            try await Task.sleep(until: now + wait, clock: .continuous)
            return true
        case .refused(let delay):
            switch section.excess {
            case .drop: return false
            case .reject: throw ActionRefused(Outcome.Rejection(.overloaded, detail: section.shown))
            case .wait: throw ThrottleFailure(description: section.shown, retryDelay: delay)
            }
        }
    }
}

extension ThrottleSection {
    /// The limit in words.
    var shown: String { "at most \(count) per \(DurationText.text(period))" }
}

/// The reason why a call cannot wait for its turn. Another attempt may have the time.
struct ThrottleFailure: RetryableError, CustomStringConvertible {
    let description: String
    let retryDelay: Duration?
    let whenExhausted = RetryExhaustion.abandon
}
