import Signalbox
import SignalboxCore

/// The typed body, read by its synthesised `Decodable`.
struct Payment: Codable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

/// The same, read by hand.
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

/// How the plugin gets its body.
enum Reading {
    case codable
    case byHand

    /// Registers the plugin that checks one member and counts.
    func register(with supervisor: Supervisor, source: SourceName, meter: Meter) throws {
        switch self {
        case .codable:
            try supervisor.register("payment", as: Payment.self, from: .source(source)) { payment, _ in
                precondition(payment.amount > 0, "the payment came wrong")
                _ = meter.count()
            }
        case .byHand:
            try supervisor.register("payment", as: HandReadPayment.self, from: .source(source)) { payment, _ in
                precondition(payment.amount > 0, "the payment came wrong")
                _ = meter.count()
            }
        }
    }
}
