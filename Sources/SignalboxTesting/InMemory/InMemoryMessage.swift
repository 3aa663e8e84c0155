public import SignalboxCore

/// A message that a test gave to an ``InMemoryAdapter``. Any thread.
public final class InMemoryMessage: Sendable {
    private struct State: Sendable {
        var outcome: Outcome?
        var isAcknowledged = false
        var deliveries = 0
    }

    /// The id the message was given, or that it was assigned; `nil` for raw bytes.
    public let id: ActionID?
    /// The message as the adapter hands it over.
    public let original: Bytes
    private let state = Watched(State())

    init(id: ActionID?, original: Bytes) {
        self.id = id
        self.original = original
    }

    /// What became of the message, waited for: the first outcome it gets. `abandoned(drain)` when its run ended before it
    /// was taken; `abandoned(stop)` when the waiting task is cancelled. What was sent while no run is on has none before the
    /// next run.
    ///
    /// A message of an adapter that redelivers may be abandoned, and handled when it comes again: see
    /// ``isAcknowledged``.
    public var outcome: Outcome {
        get async {
            await state.until { $0.outcome != nil }
            return state.value.outcome ?? .abandoned(.stop)
        }
    }

    /// Whether Signalbox has custody of it: it is settled and not abandoned.
    public var isAcknowledged: Bool { state.value.isAcknowledged }

    /// How often it was settled by a supervisor: more than once when it was abandoned and came again.
    public var deliveries: Int { state.value.deliveries }

    /// Waits until it is acknowledged; returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    public func untilAcknowledged(file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.isAcknowledged }
    }

    func acknowledge() {
        state.change { $0.isAcknowledged = true }
    }

    func settle(_ outcome: Outcome) {
        state.change { state in
            state.deliveries += 1
            if state.outcome == nil { state.outcome = outcome }
        }
    }

    /// Tells whoever waits that it was not taken, unless it has an outcome.
    func leave(_ abandonment: Outcome.Abandonment) {
        state.change { if $0.outcome == nil { $0.outcome = .abandoned(abandonment) } }
    }
}
