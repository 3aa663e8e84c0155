import AdapterSupport
import Signalbox
import SignalboxCore
import Synchronization

/// Writes one line per arrival in the order of arrival, no matter in which order the arrivals settle.
///
/// A window limits the pending lines. An arrival takes up a slot from the moment it is submitted until its line and all
/// earlier lines have been handed to stdout. While the window is full, further arrivals are refused.
final class OrderedOutcomes: Sendable {
    private struct Slot {
        /// The length of the arrival in bytes. Once the arrival settles, the length of its line.
        var bytes: Int
        /// The line, once the arrival has settled.
        var line: (json: [UInt8], shown: [UInt8], isHandled: Bool)?
    }

    private struct State {
        /// The pending lines. An entry keeps its index until it is removed.
        var slots: ArraySlice<Slot> = []
        var positions: [ArrivalKey: Int] = [:]
        var bytes = 0
        /// Set when a quarter of the window is free. It is `nil` unless a task is waiting for that.
        var waiting: Promise<Void>?
        var summary: OutcomeSummary
    }

    private let state: Mutex<State>
    private let window: WindowLimits
    private let output: StandardOutput
    private let limit: Int?
    private let onCountReached: @Sendable () -> Void

    /// - Parameters:
    ///   - window: The limits on pending lines, including lines that are waiting for an earlier one.
    ///   - output: Where the lines are written.
    ///   - recorded: The lines to compare with, or `nil` for no comparison.
    ///   - limit: The maximum number of lines to write.
    ///   - onCountReached: Called when the last of these lines is handed to stdout. It must not block.
    init(
        window: WindowLimits,
        output: StandardOutput,
        recorded: RecordedRun?,
        limit: Int? = nil,
        onCountReached: @escaping @Sendable () -> Void = {}
    ) {
        self.window = window
        self.output = output
        self.limit = limit
        self.onCountReached = onCountReached
        state = Mutex(State(summary: OutcomeSummary(recorded: recorded)))
    }

    /// The summary of the lines that were handed to stdout.
    var summary: OutcomeSummary { state.withLock { $0.summary } }

    /// Reserves slots for the first arrivals of a batch. Calls to this method must not overlap.
    ///
    /// - Returns: The number of arrivals that got a slot.
    func reserveSlots(for batch: [Arrival]) -> Int {
        state.withLock { state in
            for (count, arrival) in batch.enumerated() {
                guard hasSlot(for: arrival, state) else { return count }
                state.positions[ArrivalKey(arrival)] = state.slots.endIndex
                state.slots.append(Slot(bytes: arrival.originalLength))
                state.bytes += arrival.originalLength
            }
            return batch.count
        }
    }

    /// Releases the most recently reserved slots. Use this for arrivals that were not submitted.
    func releaseSlots(of arrivals: ArraySlice<Arrival>) {
        state.withLock { state in
            for arrival in arrivals {
                state.positions[ArrivalKey(arrival)] = nil
                state.bytes -= state.slots.popLast()?.bytes ?? 0
            }
        }
    }

    /// Records the outcome of an arrival, and writes every line that is no longer waiting for an earlier one.
    func record(_ settled: SettledArrival) {
        let line = OutcomeLine(settled: settled)
        let json = line.recordLine
        let shown = output.isTerminal ? line.terminalLine : json
        let waiting = state.withLock { state -> Promise<Void>? in
            guard let position = state.positions.removeValue(forKey: ArrivalKey(settled.arrival)) else { return nil }
            state.bytes += json.count - settled.arrival.originalLength
            state.slots[position] = Slot(bytes: json.count, line: (json, shown, settled.outcome.isHandled))
            writeReadyLines(&state)
            guard hasRoom(state) else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.set(())
    }

    /// Waits until a quarter of the window is free. The wait is bounded, because every pending arrival settles in
    /// bounded time.
    func room() async {
        let waiting = state.withLock { state -> Promise<Void>? in
            if hasRoom(state) { return nil }
            if state.waiting == nil { state.waiting = Promise() }
            return state.waiting
        }
        await waiting?.value()
    }

    /// Writes the settled lines at the front of the window. The caller must hold the lock, so that concurrent calls
    /// cannot reorder the lines.
    private func writeReadyLines(_ state: inout State) {
        while let (json, shown, isHandled) = state.slots.first?.line {
            // A slice keeps removed elements alive until its storage is reallocated.
            state.slots[state.slots.startIndex].line = nil
            state.slots.removeFirst()
            state.bytes -= json.count
            // Once the limit is reached, an outcome only shows that the source is closing.
            guard limit.map({ state.summary.settled < $0 }) ?? true else { continue }
            state.summary.count(json.dropLast(), isHandled: isHandled)
            output.offer(shown)
            if state.summary.settled == limit { onCountReached() }
        }
    }

    private func hasSlot(for arrival: Arrival, _ state: State) -> Bool {
        guard state.slots.count < window.arrivals else { return false }
        // If a quarter of the window is free, an arrival of any size is accepted. Otherwise, a source could wait for
        // room and still have its arrival refused.
        return hasRoom(state) || state.bytes + arrival.originalLength <= window.bytes
    }

    private func hasRoom(_ state: State) -> Bool {
        state.slots.count <= window.arrivals / 4 * 3 && state.bytes <= window.bytes / 4 * 3
    }
}

extension Outcome {
    var isHandled: Bool { if case .handled = self { true } else { false } }
}

/// Identifies an unsettled arrival by its batch and index. While the arrival is retained, no other batch can have the
/// same storage.
struct ArrivalKey: Hashable {
    private let batch: ObjectIdentifier
    private let index: UInt32

    init(_ arrival: Arrival) {
        batch = ObjectIdentifier(arrival.storage)
        index = arrival.index
    }
}

/// Wraps an adapter so that the outcomes of its arrivals are written in order.
final class OrderedSource: Adapter {
    private let adapter: any Adapter
    private let outcomes: OrderedOutcomes
    private let hasEnded = Atomic(false)
    private let end = Mutex<(any Error)?>(nil)

    init(_ adapter: any Adapter, outcomes: OrderedOutcomes) {
        self.adapter = adapter
        self.outcomes = outcomes
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    /// Whether the run ended without an error and without being cancelled.
    var isComplete: Bool { hasEnded.load(ordering: .relaxed) }
    /// The error that ended the run, or `nil` if none did. The command reports it. The supervisor would log that its
    /// other sources continue.
    var failure: (any Error)? { end.withLock { $0 } }

    func run(into intake: any Intake) async {
        do {
            try await adapter.run(into: OrderedIntake(intake: intake, outcomes: outcomes))
        } catch {
            return end.withLock { $0 = error }
        }
        if !Task.isCancelled { hasEnded.store(true, ordering: .relaxed) }
    }
}

/// Reserves a slot for the line of each arrival before submitting the arrival to the supervisor.
struct OrderedIntake: Intake {
    let intake: any Intake
    let outcomes: OrderedOutcomes

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let reserved = outcomes.reserveSlots(for: batch)
        guard reserved > 0 else { return 0 }
        let taken = intake.submit(reserved == batch.count ? batch : Array(batch[..<reserved]), to: sink)
        outcomes.releaseSlots(of: batch[taken..<reserved])
        return taken
    }

    func room() async throws(SourceClosed) {
        await outcomes.room()
        try await intake.room()
    }
}
