import Foundation
import Hummingbird
import Logging

// Prints its port, answers GET /hello with a text, and each payment with the same payment, until the process ends.

struct Payment: ResponseCodable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

let router = Router()
router.get("/hello") { _, _ in "Hello" }
router.post("/payment") { request, context in
    try await request.decode(as: Payment.self, context: context)
}
let application = Application(
    router: router,
    configuration: .init(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: { channel in
        print(channel.localAddress?.port ?? 0)
        fflush(nil)
    },
    logger: Logger(label: "hummingbird") { _ in SwiftLogNoOpLogHandler() }
)
try await application.runService()
