/// The body of every message.
struct Payment: Decodable, Sendable {
    /// Nanoseconds of the monotonic clock, where latency is measured.
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}
