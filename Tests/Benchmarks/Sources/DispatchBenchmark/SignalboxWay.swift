import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// One open supervisor with 31 plugins, fed through `Intake.submit` as an adapter does it.
final class SignalboxWay: Sendable {
    enum Variant: String, CaseIterable {
        case codableAsync = "Codable, async handler"
        case codableSync = "Codable, sync handler"
        case handAsync = "read by hand, async handler"
        case handSync = "read by hand, sync handler"
    }

    private let supervisor: Supervisor
    private let intake: any Intake
    private let running: Task<Void, any Error>
    private let total = Atomic<Int>(0)
    private let pool = ArrivalPool(maximumKept: 16)

    init(_ variant: Variant) throws {
        let supervisor = Supervisor(logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
        self.supervisor = supervisor
        intake = try supervisor.intake(for: "benchmark")
        running = Task { try await supervisor.run() }
        for number in 0..<30 {
            try supervisor.register(try ActionName("other\(number)"), as: Payment.self, from: .source("benchmark")) {
                _,
                _ in
            }
        }
        try register(variant)
    }

    private func register(_ variant: Variant) throws {
        let rule = AccessRule.source("benchmark")
        switch variant {
        case .codableAsync:
            try supervisor.register("payment", as: Payment.self, from: rule) { info, _ in await self.addLater(info) }
        case .codableSync:
            try supervisor.register("payment", as: Payment.self, from: rule) { info, _ in self.add(info) }
        case .handAsync:
            try supervisor.register("payment", as: HandReadPayment.self, from: rule) { info, _ in
                await self.addLater(info)
            }
        case .handSync:
            try supervisor.register("payment", as: HandReadPayment.self, from: rule) { info, _ in self.add(info) }
        }
    }

    private func add(_ info: Payment) {
        count(info.amount, info.transactionId, info.paymentId, info.paymentGoodsName)
    }

    private func add(_ info: HandReadPayment) {
        count(info.amount, info.transactionId, info.paymentId, info.paymentGoodsName)
    }

    private func addLater(_ info: Payment) async { add(info) }

    private func addLater(_ info: HandReadPayment) async { add(info) }

    private func count(_ amount: Int, _ first: String, _ second: String, _ third: String) {
        let sum = amount &+ first.utf8.count &+ second.utf8.count &+ third.utf8.count
        total.wrappingAdd(sum, ordering: .relaxed)
    }

    /// Dispatches so many messages in batches and returns when all are settled.
    func dispatch(_ count: Int, batch size: Int) async throws -> CountingSink {
        let sink = CountingSink(expected: count)
        let origin = Origin(source: "benchmark", facts: BenchmarkFacts())
        var batch = ArrivalBatch(pool: pool)
        var made = 0
        while made < count {
            fill(&batch, min(size, count - made), from: made, origin: origin)
            let arrivals = batch.take()
            var taken = intake.submit(arrivals, to: sink)
            while taken < arrivals.count {
                try await intake.room()
                taken += intake.submit(Array(arrivals[taken...]), to: sink)
            }
            made += arrivals.count
        }
        await sink.untilSettled()
        return sink
    }

    private func fill(_ batch: inout ArrivalBatch, _ count: Int, from first: Int, origin: Origin) {
        let time = WallTime(seconds: 1_700_000_000)
        Payment.message.withUnsafeBytes { bytes in
            for number in 0..<count {
                batch.append(bytes, token: UInt64(first + number), origin: origin, receivedAt: time)
            }
        }
    }

    func stop() async {
        running.cancel()
        _ = try? await running.value
    }
}

struct BenchmarkFacts: OriginFacts {
    static let kind = "benchmark"
}
