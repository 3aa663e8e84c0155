import JSBridge
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// The bridge as it is shipped: the headless engine, a supervisor, a typed plugin that answers.
enum BridgeRun {
    struct Payment: Decodable, Sendable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    struct Receipt: Encodable, Sendable {
        let total: Int
    }

    /// Seconds from the start of the page to its end, when every message has been handled and answered.
    static func seconds(_ script: String, messages: Int) async throws -> Double {
        let quiet = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        var configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: [PageScript(name: "page.js", source: script)]
        )
        configuration.endsWhenIdle = true
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(JavaScriptCoreEngine(configuration, logger: quiet))
        try supervisor.register("payment", as: Payment.self, from: .source("page")) { payment, _ in
            Receipt(total: payment.amount)
        }
        let clock = ContinuousClock()
        let began = clock.now
        try await supervisor.run()
        let took = clock.now - began
        let handled = supervisor.report.total.handled
        precondition(handled == messages, "\(handled) of \(messages) messages were handled")
        return took / .seconds(1)
    }
}
