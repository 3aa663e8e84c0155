import Foundation
import SignalboxCore
import Synchronization

/// Payments with a fixed number of them without an outcome: each outcome submits the next payment.
final class PluginLoad: SettlementSink {
    private struct Progress {
        var began: [ContinuousClock.Instant]
        var durations: [Duration] = []
        var free: [UInt64]
        var submitted = 0
        var notHandled = 0
    }

    private static let message = Array(
        """
        {"action":"payment","body":{"amount":129900,"transactionId":"tx-20240117-00000042","paymentId":"pay_5f3c9a",\
        "paymentGoodsName":"Noise cancelling headphones"}}
        """.utf8
    )

    private let intake: any Intake
    private let count: Int
    private let origin = Origin(source: "benchmark", facts: BenchmarkFacts())
    private let pool = ArrivalPool(maximumKept: 16)
    private let progress: Mutex<Progress>
    private let (free, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ intake: any Intake, inFlight: Int, count: Int) {
        (self.intake, self.count) = (intake, count)
        let slots = (0..<UInt64(inFlight))
        progress = Mutex(Progress(began: Array(repeating: .now, count: inFlight), free: Array(slots)))
    }

    var notHandled: Int { progress.withLock { $0.notHandled } }

    /// Returns calls a second, the median and the 99th percentile, as one line.
    func run() async throws -> String {
        let began = ContinuousClock.now
        signal.yield()
        for await _ in free {
            try await submit()
            if progress.withLock({ $0.durations.count == count }) { break }
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let sorted = progress.withLock { $0.durations }.map { $0 / .microseconds(1) }.sorted()
        let numbers = [Double(count) / seconds, sorted[count / 2], sorted[count * 99 / 100]]
        return numbers.map { String(format: "%.1f", $0) }.joined(separator: " ")
    }

    /// Submits a payment in each free slot, as one batch.
    private func submit() async throws {
        let slots = progress.withLock { progress in
            let taken = min(progress.free.count, count - progress.submitted)
            let slots = Array(progress.free.suffix(taken))
            progress.free.removeLast(taken)
            progress.submitted += taken
            for slot in slots { progress.began[Int(slot)] = .now }
            return slots
        }
        guard !slots.isEmpty else { return }
        var batch = ArrivalBatch(pool: pool)
        PluginLoad.message.withUnsafeBytes { bytes in
            let time = WallTime(seconds: 1_700_000_000)
            for slot in slots { batch.append(bytes, token: slot, origin: origin, receivedAt: time) }
        }
        let arrivals = batch.take()
        var taken = intake.submit(arrivals, to: self)
        while taken < arrivals.count {
            try await intake.room()
            taken += intake.submit(Array(arrivals[taken...]), to: self)
        }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        progress.withLock { progress in
            progress.durations.append(.now - progress.began[Int(token)])
            progress.free.append(token)
            if case .handled = outcome {} else { progress.notHandled += 1 }
        }
        signal.yield()
    }
}

struct BenchmarkFacts: OriginFacts {
    static let kind = "benchmark"
}
