import Foundation
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// A running supervisor with 31 plugins, fed through `Intake.submit` as by an adapter.
final class SignalboxWay: Sendable {
    enum Variant: String, CaseIterable {
        case codableAsync = "Codable, async handler"
        case codableSync = "Codable, sync handler"
        case handAsync = "read by hand, async handler"
        case handSync = "read by hand, sync handler"
        case codableInline = "Codable, inline"
        case handInline = "read by hand, inline"
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
            try supervisor.register(
                Registration(try ActionName("other\(number)"), as: Payment.self, from: .source("benchmark")) { _, _ in
                }
            )
        }
        try register(variant)
    }

    private func register(_ variant: Variant) throws {
        let rule = AccessRule.source("benchmark")
        let inline = PluginOptions<Payment>(runsInline: variant == .codableInline)
        let handInline = PluginOptions<HandReadPayment>(runsInline: variant == .handInline)
        switch variant {
        case .codableAsync:
            try supervisor.register(
                Registration("payment", as: Payment.self, from: rule) { info, _ in await self.addLater(info) }
            )
        case .codableSync, .codableInline:
            try supervisor.register(
                Registration("payment", as: Payment.self, from: rule, options: inline) { info, _ in self.add(info) }
            )
        case .handAsync:
            try supervisor.register(
                Registration("payment", as: HandReadPayment.self, from: rule) { info, _ in
                    await self.addLater(info)
                }
            )
        case .handSync, .handInline:
            try supervisor.register(
                Registration("payment", as: HandReadPayment.self, from: rule, options: handInline) { info, _ in
                    self.add(info)
                }
            )
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

    /// Dispatches `count` messages in batches. Returns when all are settled.
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

/// The usual approach: the message as an untyped dictionary, casts, and a dictionary of closures by action.
final class UsualWay {
    typealias Handler = (_ id: String, _ body: [String: Any]) -> Bool

    private var handlers: [String: Handler] = [:]
    private(set) var total = 0

    init() {
        handlers["payment"] = { [unowned self] _, body in
            guard let amount = body["amount"] as? Int,
                let transactionId = body["transactionId"] as? String,
                let paymentId = body["paymentId"] as? String,
                let paymentGoodsName = body["paymentGoodsName"] as? String
            else { return false }
            total += amount &+ transactionId.utf8.count &+ paymentId.utf8.count &+ paymentGoodsName.utf8.count
            return true
        }
        for number in 0..<30 { handlers["other\(number)"] = { _, _ in true } }
    }

    func dispatch(_ bytes: [UInt8]) -> Bool {
        guard let message = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let action = message["action"] as? String,
            let id = message["id"] as? String,
            let body = message["body"] as? [String: Any],
            let handler = handlers[action]
        else { return false }
        return handler(id, body)
    }
}

/// The decoded body of the payment message for every variant, and the message itself: 202 bytes.
struct Payment: Decodable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String

    static let message: [UInt8] = Array(
        """
        {"action":"payment","id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","body":{"amount":129900,\
        "transactionId":"tx-20240117-00000042","paymentId":"pay_5f3c9a","paymentGoodsName":"Noise cancelling headphones"}}
        """.utf8
    )
}

/// The same body type with a hand-written reader.
struct HandReadPayment: BodyReadable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String

    init(reading body: borrowing BodyReader) throws(BodyError) {
        amount = try body.int("amount")
        transactionId = try body.string("transactionId")
        paymentId = try body.string("paymentId")
        paymentGoodsName = try body.string("paymentGoodsName")
    }
}

/// A minimal sink for an adapter, which counts settlements and signals when all messages are settled.
final class CountingSink: SettlementSink {
    let notHandled = Atomic<Int>(0)
    private let left: Atomic<Int>
    private let done: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation

    init(expected: Int) {
        left = Atomic(expected)
        (done, finish) = AsyncStream.makeStream(of: Never.self)
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        if case .handled = outcome {} else { notHandled.wrappingAdd(1, ordering: .relaxed) }
        if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { finish.finish() }
    }

    func untilSettled() async {
        for await _ in done {}
    }
}
