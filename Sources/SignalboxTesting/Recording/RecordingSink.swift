public import SignalboxCore

/// A settlement sink that records its calls in order, so that a test can wait for outcomes and read the calls. Safe to
/// use from any thread.
///
/// The sink keeps every call, so use it only for a limited number of arrivals.
public final class RecordingSink: SettlementSink {
    /// A call to the sink.
    public enum Event: Sendable, Hashable {
        /// The arrival with the given token may be acknowledged.
        case mayAcknowledge(UInt64)
        /// The arrival with the given token received the given outcome.
        case settled(UInt64, Outcome)
    }

    private struct State: Sendable {
        var events: [Event] = []
        var settled = 0
    }

    private let state = Watched(State())

    /// Creates a sink without events.
    public init() {}

    /// The recorded calls, in order.
    public var events: [Event] { state.value.events }

    /// The outcomes by token. A token that was settled twice has two outcomes.
    public var outcomes: [UInt64: [Outcome]] {
        events.reduce(into: [:]) { outcomes, event in
            if case .settled(let token, let outcome) = event { outcomes[token, default: []].append(outcome) }
        }
    }

    /// The tokens that may be acknowledged, in the order of the calls.
    public var acknowledged: [UInt64] {
        events.compactMap { if case .mayAcknowledge(let token) = $0 { token } else { nil } }
    }

    /// Records that an arrival may be acknowledged.
    public func mayAcknowledge(_ token: UInt64) {
        state.change { $0.events.append(.mayAcknowledge(token)) }
    }

    /// Records an arrival's outcome.
    public func settle(_ token: UInt64, _ outcome: Outcome) {
        state.change { state in
            state.events.append(.settled(token, outcome))
            state.settled += 1
        }
    }

    /// Waits until `count` outcomes have been recorded. If the task is cancelled, this method returns early.
    ///
    /// - Parameters:
    ///   - count: The number of outcomes to wait for.
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
    public func untilSettled(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.settled >= count }
    }
}
