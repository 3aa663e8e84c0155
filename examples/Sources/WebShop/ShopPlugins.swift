import SignalboxCore

/// Shows and hides the loading indicator. The screen provides the closure.
@MainActor
final class LoadingPlugin: Plugin {
    nonisolated struct Info: Decodable, Sendable {
        let isShow: Bool
    }

    nonisolated let action: ActionName = "loading"
    private let handler: (Info, ActionContext) -> Void

    init(_ handler: @escaping (Info, ActionContext) -> Void) {
        self.handler = handler
    }

    func callAsAction(_ info: Info, context: ActionContext) async {
        handler(info, context)
    }
}

/// Takes a payment and replies with a receipt. The action's id is the page's identifier for the payment.
struct PaymentPlugin: Plugin {
    struct Info: Decodable, Sendable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    struct Receipt: Encodable, Sendable {
        let receipt: String
    }

    struct NothingToPay: Error {}

    let action: ActionName = "payment"
    let told: @Sendable (String) -> Void

    func callAsAction(_ info: Info, context: ActionContext) async throws -> Receipt {
        guard info.amount > 0 else { throw NothingToPay() }
        told("payment \(context.action.id): \(info.amount) for \(info.paymentGoodsName), \(info.paymentId)")
        return Receipt(receipt: "r-\(info.transactionId)")
    }
}
