import Foundation
import SignalboxCore
import SignalboxTesting
import Synchronization

/// A source of numbered messages. Their tokens are their numbers.
struct NumberedAdapter: RestoringAdapter {
    let source: SourceName = "push"
    let features: AdapterFeatures = []
    let arguments: Arguments
    let record: Record
    /// Reads stored messages again.
    private let reader = InMemoryAdapter(source: "push")

    init(_ arguments: Arguments, _ record: Record) {
        self.arguments = arguments
        self.record = record
    }

    /// Sends the messages in batches, each when the one before was acknowledged.
    func run(into intake: any Intake) async throws {
        let sink = NumberedSink(arguments, record)
        let last = arguments.isResumed ? 0 : arguments.count
        for first in stride(from: 1, through: last, by: arguments.batch) {
            let numbers = first...min(first + arguments.batch - 1, last)
            var rest = arrivals(numbers)[...]
            while true {
                rest = rest.dropFirst(intake.submit(Array(rest), to: sink))
                if rest.isEmpty { break }
                do { try await intake.room() } catch { return }
            }
            await sink.accepted.until(numbers.upperBound)
        }
        record.sent.add()
        // Until the task is cancelled.
        try? await Task.sleep(for: .seconds(86_400))
    }

    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] { reader.restore(messages, at: now) }

    private func arrivals(_ numbers: ClosedRange<Int>) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: source, facts: InMemoryFacts())
        for number in numbers {
            let text = Array(#"{"action":"log","id":"m-\#(number)","body":{"n":\#(number)}}"#.utf8)
            text.withUnsafeBytes {
                batch.append($0, token: UInt64(number), origin: origin, receivedAt: WallTime(seconds: Int64(time(nil))))
            }
        }
        return batch.take()
    }
}

/// Records what may be acknowledged, and kills the process there if it is asked to.
final class NumberedSink: SettlementSink {
    /// The number of messages that may be acknowledged.
    let accepted = Tally()
    private let settled = Tally()
    private let arguments: Arguments
    private let record: Record

    init(_ arguments: Arguments, _ record: Record) {
        self.arguments = arguments
        self.record = record
    }

    func mayAcknowledge(_ token: UInt64) {
        record.append("\(token)", to: "accepted.txt")
        if accepted.add() == arguments.deathAt && arguments.death == .accepted { Death.now() }
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        if settled.add() == arguments.deathAt && arguments.death == .handled { Death.now() }
    }
}

/// A number that grows, and that one task waits for.
final class Tally: Sendable {
    private let state = Mutex<(count: Int, wanted: Int, waiter: CheckedContinuation<Void, Never>?)>((0, 0, nil))

    /// Adds one, and returns the new number.
    @discardableResult
    func add() -> Int {
        let (count, waiter) = state.withLock { state in
            state.count += 1
            guard state.count >= state.wanted else { return (state.count, CheckedContinuation<Void, Never>?.none) }
            defer { state.waiter = nil }
            return (state.count, state.waiter)
        }
        waiter?.resume()
        return count
    }

    /// Waits until the number is reached.
    func until(_ wanted: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                guard state.count < wanted else { return true }
                (state.wanted, state.waiter) = (wanted, continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
