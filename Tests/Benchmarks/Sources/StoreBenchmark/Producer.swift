import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization

/// Submits batches as fast as they are taken, and ends when the plugin was called for all.
final class Producer: RestoringAdapter, SettlementSink {
    let source: SourceName = "push"
    let features: AdapterFeatures = []
    private let count: Int
    private let text: @Sendable (Int) -> [UInt8]
    private let onCall: @Sendable (Int) -> Void
    private let reader = InMemoryAdapter(source: "push")
    private let settled = Atomic<Int>(0)
    private let calls = Atomic<Int>(0)
    private let end = Room(0)
    private let first = Room(0)

    /// - Parameters:
    ///   - count: The number of messages, a multiple of ``StoreTable/batch``.
    ///   - text: Returns the message with a number.
    ///   - onCall: Called for each call of the plugin, with its number from 1.
    init(
        count: Int,
        text: @escaping @Sendable (Int) -> [UInt8] = StoreTable.text,
        onCall: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.count = count
        self.text = text
        self.onCall = onCall
    }

    var isDone: Bool { settled.load(ordering: .relaxed) == count }

    func noteCall() {
        let number = calls.wrappingAdd(1, ordering: .relaxed).newValue
        if number == 1 { first.give() }
        onCall(number)
        // Not when all are settled: a message that waits only on disk is settled before its call.
        if number == count { end.give() }
    }

    func firstCall() async { await first.take() }

    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] { reader.restore(messages, at: now) }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) { settled.wrappingAdd(1, ordering: .relaxed) }

    func run(into intake: any Intake) async throws {
        var batches = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: source, facts: InMemoryFacts())
        var number = 0
        while number < count {
            var rest = StoreTable.arrivals(number, &batches, origin, text)[...]
            number += rest.count
            while true {
                rest = rest.dropFirst(intake.submit(Array(rest), to: self))
                if rest.isEmpty { break }
                try await intake.room()
            }
        }
        if count > 0 { await end.take() } else { try await Task.sleep(for: .seconds(3_600)) }
    }
}

/// A number of places that tasks take and give back.
final class Room: Sendable {
    private let state: Mutex<(count: Int, waiters: [CheckedContinuation<Void, Never>])>

    init(_ count: Int) { state = Mutex((count, [])) }

    func take() async {
        await withCheckedContinuation { continuation in
            let hasPlace = state.withLock { state in
                guard state.count > 0 else {
                    state.waiters.append(continuation)
                    return false
                }
                state.count -= 1
                return true
            }
            if hasPlace { continuation.resume() }
        }
    }

    func give() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.count += 1
            return nil
        }
        waiter?.resume()
    }
}
