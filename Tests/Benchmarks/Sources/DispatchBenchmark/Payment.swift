import SignalboxCore

/// What every variant makes of the payment message, and the message itself: 202 bytes.
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

/// The same value, read by hand.
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
