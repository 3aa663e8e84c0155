import Signalbox
import SignalboxCore
import Synchronization

/// Writes one line per arrival in the order of their arrival, in whichever order they are settled.
///
/// Bounded by a window: an arrival has a place from its submission until its line and all lines before it are handed to
/// stdout, and while all places are taken no further arrival is accepted.
final class OrderedOutcomes: Sendable {
    private enum Place {
        case waiting(bytes: Int)
        case settled(json: [UInt8], shown: [UInt8], isHandled: Bool)

        var bytes: Int {
            switch self {
            case .waiting(let bytes): bytes
            case .settled(let json, _, _): json.count
            }
        }
    }

    private struct State {
        /// What is not handed on yet. The index of a place stays the same for as long as it has one.
        var places: ArraySlice<Place> = []
        var positions: [ArrivalKey: Int] = [:]
        var bytes = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var summary: OutcomeSummary
        var written = 0
    }

    private let state: Mutex<State>
    private let window: WindowLimits
    private let output: StandardOutput
    private let limit: Int?
    private let enough: @Sendable () -> Void

    /// - Parameters:
    ///   - window: how much may be inside, lines that wait for an earlier one included.
    ///   - output: where the lines go.
    ///   - recorded: what the lines are compared with, if anything.
    ///   - limit: after so many lines no more are written.
    ///   - enough: called when the last of them is handed to stdout; must not block.
    init(
        window: WindowLimits,
        output: StandardOutput,
        recorded: RecordedRun?,
        limit: Int? = nil,
        enough: @escaping @Sendable () -> Void = {}
    ) {
        self.window = window
        self.output = output
        self.limit = limit
        self.enough = enough
        state = Mutex(State(summary: OutcomeSummary(recorded: recorded)))
    }

    /// How many lines were handed to stdout.
    var written: Int { state.withLock { $0.written } }
    /// What the lines that were handed to stdout say.
    var summary: OutcomeSummary { state.withLock { $0.summary } }

    /// Gives places to the first arrivals of a batch. Called by one submitter, not at the same time on several threads.
    ///
    /// - Returns: how many have a place.
    func take(_ batch: [Arrival]) -> Int {
        state.withLock { state in
            for (count, arrival) in batch.enumerated() {
                guard hasPlace(for: arrival, state) else { return count }
                state.positions[ArrivalKey(arrival)] = state.places.endIndex
                state.places.append(.waiting(bytes: arrival.originalLength))
                state.bytes += arrival.originalLength
            }
            return batch.count
        }
    }

    /// Takes the places back that were given last, to arrivals that were not submitted after all.
    func giveBack(_ arrivals: ArraySlice<Arrival>) {
        state.withLock { state in
            for arrival in arrivals {
                state.positions[ArrivalKey(arrival)] = nil
                state.bytes -= state.places.popLast()?.bytes ?? 0
            }
        }
    }

    /// Notes what became of an arrival, and writes its line when all before it are written.
    func note(_ settled: SettledArrival) {
        let line = OutcomeLine(settled)
        let json = line.recordLine
        let shown = output.isTerminal ? line.terminalLine : json
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard let position = state.positions.removeValue(forKey: ArrivalKey(settled.arrival)) else { return [] }
            state.bytes += json.count - settled.arrival.originalLength
            state.places[position] = .settled(json: json, shown: shown, isHandled: settled.outcome.isHandled)
            writeFirsts(&state)
            guard hasRoom(state) else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when a quarter of the places is free. Whatever holds them is settled in bounded time.
    func room() async {
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if hasRoom(state) { return true }
                state.waiters.append(continuation)
                return false
            }
            if mayGoOn { continuation.resume() }
        }
    }

    /// The lines are handed over while the lock is held, as two threads could otherwise change their order.
    private func writeFirsts(_ state: inout State) {
        while case .settled(let json, let shown, let isHandled)? = state.places.first {
            // A slice keeps what it no longer shows until it moves to other memory.
            state.places[state.places.startIndex] = .waiting(bytes: 0)
            state.places.removeFirst()
            state.bytes -= json.count
            // What comes after enough lines meets a source that is closing, and says nothing about it.
            guard limit.map({ state.written < $0 }) ?? true else { continue }
            state.summary.count(isHandled: isHandled)
            state.summary.compare(json.dropLast())
            output.offer(shown)
            state.written += 1
            if state.written == limit { enough() }
        }
    }

    private func hasPlace(for arrival: Arrival, _ state: State) -> Bool {
        guard state.places.count < window.arrivals else { return false }
        // Where there is room one arrival may reach over the limit: whoever waited for room can go on.
        return hasRoom(state) || state.bytes + arrival.originalLength <= window.bytes
    }

    private func hasRoom(_ state: State) -> Bool {
        state.places.count <= window.arrivals / 4 * 3 && state.bytes <= window.bytes / 4 * 3
    }
}

extension Outcome {
    fileprivate var isHandled: Bool { if case .handled = self { true } else { false } }
}

/// What tells an arrival that is not settled yet from every other: its place in its batch's memory, which is nobody
/// else's as long as the arrival is kept.
struct ArrivalKey: Hashable {
    private let batch: ObjectIdentifier
    private let index: UInt32

    init(_ arrival: Arrival) {
        batch = ObjectIdentifier(arrival.storage)
        index = arrival.index
    }
}

/// An adapter whose arrivals come out in order, and that remembers how it ended.
final class OrderedSource: Adapter {
    /// How an adapter's run came to its end.
    enum End: Sendable {
        /// It had nothing more to bring.
        case complete
        /// It was asked to stop.
        case stopped
        /// It could not go on.
        case failed(any Error)
    }

    private let adapter: any Adapter
    private let outcomes: OrderedOutcomes
    private let noted = Mutex(End.stopped)

    init(_ adapter: any Adapter, outcomes: OrderedOutcomes) {
        self.adapter = adapter
        self.outcomes = outcomes
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    /// How it ended; `stopped` as well when it never began.
    var end: End { noted.withLock { $0 } }

    func run(into intake: any Intake) async throws {
        do {
            try await adapter.run(into: OrderedIntake(intake: intake, outcomes: outcomes))
        } catch {
            noted.withLock { $0 = .failed(error) }
            throw error
        }
        if !Task.isCancelled { noted.withLock { $0 = .complete } }
    }
}

/// An intake that gives each arrival its place among the lines before the supervisor hears of it.
struct OrderedIntake: Intake {
    let intake: any Intake
    let outcomes: OrderedOutcomes

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let placed = outcomes.take(batch)
        guard placed > 0 else { return 0 }
        let taken = intake.submit(placed == batch.count ? batch : Array(batch[..<placed]), to: sink)
        outcomes.giveBack(batch[taken..<placed])
        return taken
    }

    func room() async throws(SourceClosed) {
        await outcomes.room()
        try await intake.room()
    }
}
