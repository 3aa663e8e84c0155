public import SignalboxCore

/// Records what an adapter would be told about its arrivals, in order, and lets a test wait for it. Any thread.
///
/// It keeps all it hears, so it is for tests of a bounded number of arrivals.
public final class RecordingSink: SettlementSink {
    /// One call of the sink.
    public enum Event: Sendable, Hashable {
        /// The arrival with this token may be acknowledged.
        case mayAcknowledge(UInt64)
        /// The arrival with this token has this outcome.
        case settled(UInt64, Outcome)
    }

    private struct State: Sendable {
        var events: [Event] = []
        var settled = 0
    }

    private let state = Watched(State())

    /// A sink that has heard nothing.
    public init() {}

    /// What it was told, in the order in which it was.
    public var events: [Event] { state.value.events }

    /// The outcomes by token; a token that was settled twice has two.
    public var outcomes: [UInt64: [Outcome]] {
        events.reduce(into: [:]) { outcomes, event in
            if case .settled(let token, let outcome) = event { outcomes[token, default: []].append(outcome) }
        }
    }

    /// The tokens that may be acknowledged, in the order in which that was said.
    public var acknowledged: [UInt64] {
        events.compactMap { if case .mayAcknowledge(let token) = $0 { token } else { nil } }
    }

    /// Records that the arrival may be acknowledged.
    public func mayAcknowledge(_ token: UInt64) {
        state.change { $0.events.append(.mayAcknowledge(token)) }
    }

    /// Records the outcome.
    public func settle(_ token: UInt64, _ outcome: Outcome) {
        state.change { state in
            state.events.append(.settled(token, outcome))
            state.settled += 1
        }
    }

    /// Waits until it has recorded `count` outcomes; returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - count: the number of outcomes to wait for.
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    public func untilSettled(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.settled >= count }
    }
}
