import JSBridge
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// The bridge as shipped: the headless engine, a supervisor and a typed plugin that replies.
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

    /// Returns the seconds from the start of the page to its end, when every message has been handled and answered.
    ///
    /// - Parameter runsInline: Whether the page's thread calls the plugin.
    static func seconds(_ script: String, messages: Int, runsInline: Bool) async throws -> Double {
        let quiet = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        var configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: [PageScript(name: "page.js", source: script)]
        )
        configuration.endsWhenIdle = true
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(JavaScriptCoreEngine(configuration, logger: quiet))
        try supervisor.register(
            Registration(
                "payment",
                as: Payment.self,
                from: .source("page"),
                options: PluginOptions(runsInline: runsInline)
            ) { payment, _ in Receipt(total: payment.amount) }
        )
        let clock = ContinuousClock()
        let began = clock.now
        try await supervisor.run()
        let took = clock.now - began
        let handled = supervisor.report.total.handled
        precondition(handled == messages, "\(handled) of \(messages) messages were handled")
        return took / .seconds(1)
    }
}

/// The scripts of the benchmark's pages: the same messages for the bare engine and for the bridge.
enum PageScripts {
    /// The body of the payment message, which has 130 bytes, and 202 as an envelope with an id.
    static let body = """
        const body = { amount: 129900, transactionId: "tx-20240117-00000042", paymentId: "pay_5f3c9a",
                       paymentGoodsName: "Noise cancelling headphones" };
        """

    static func bareOneWay(_ count: Int) -> String {
        "\(body) for (let i = 0; i < \(count); i++) post(JSON.stringify({ action: 'payment', body }));"
    }

    static func oneWay(_ count: Int) -> String {
        "\(body) for (let i = 0; i < \(count); i++) window.webkit.messageHandlers.payment.postMessage(body);"
    }

    static func bareCalls(_ count: Int) -> String {
        """
        \(body) (async () => {
            for (let i = 0; i < \(count); i++) await ask(JSON.stringify({ action: 'payment', body }));
        })();
        """
    }

    /// Returns a script with `callers` concurrent callers, each of which awaits its answer before the next call.
    static func calls(_ count: Int, inFlight callers: Int) -> String {
        """
        \(body) const caller = async () => {
            for (let i = 0; i < \(count / callers); i++) await signalbox.call('payment', body);
        };
        for (let i = 0; i < \(callers); i++) caller();
        """
    }
}
