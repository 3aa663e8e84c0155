import JSBridge
import Signalbox
import SignalboxCore
import Testing

@Suite struct CallTests {
    @Test func aCallIsAnsweredWithThePluginsReply() async throws {
        let trial = try PageTrial(
            """
            (async () => {
              report(await signalbox.call('pay', { amount: 3, currency: 'EUR' }));
              report((await signalbox.call('nothing')) === undefined);
              report(await window.webkit.messageHandlers.pay.postMessage({ amount: 4, currency: 'CHF' }));
            })();
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register("pay", as: Payment.self, from: .script()) { payment, _ in
            Payment(amount: payment.amount + 1, currency: payment.currency)
        }
        try trial.supervisor.register("nothing", as: RawBody.self, from: .script()) { _, _ in }
        #expect(
            try await trial.untilEnd() == [
                #"{"amount":4,"currency":"EUR"}"#, "true", #"{"amount":5,"currency":"CHF"}"#,
            ]
        )
        #expect(trial.engine.scriptErrors == 0)
    }
}
