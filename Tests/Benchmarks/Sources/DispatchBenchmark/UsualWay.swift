import Foundation

/// What people write today: the message as a dictionary of anything, casts, and a dictionary of closures by action.
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
