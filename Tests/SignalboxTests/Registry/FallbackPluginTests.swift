import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite struct FallbackPluginTests {
    private struct CardPayment: Plugin {
        struct Info: Decodable { let amount: Int, card: String }
        let action: ActionName = "payment"

        func callAsAction(_ info: Info, context: ActionContext) async throws -> String { "card \(info.amount)" }
    }

    private struct InvoicePayment: Plugin {
        struct Info: Decodable { let amount: Int, customer: String }
        let action: ActionName = "payment"

        func callAsAction(_ info: Info, context: ActionContext) async throws -> String {
            guard info.amount <= 100 else { throw PluginDeclined("invoices go up to 100") }
            return "invoice \(info.amount)"
        }
    }

    private struct NumberPayment: Plugin {
        let action: ActionName = "amount"

        func callAsAction(_ info: Int, context: ActionContext) async throws -> String {
            guard info > 0 else { throw Broken() }
            guard info < 10 else { throw PluginDeclined("it is too much") }
            return "number \(info)"
        }
    }

    private typealias Both = FallbackPlugin<InvoicePayment, CardPayment>

    private static func both() -> Both { FallbackPlugin(InvoicePayment(), otherwise: CardPayment()) }

    private static func detail(_ outcome: Outcome) -> String {
        guard case .rejected(let rejection) = outcome, rejection.reason == .invalidBody else { return "\(outcome)" }
        return rejection.detail
    }

    private static func handled(_ text: String) -> Outcome { .handled(reply: Bytes("\"\(text)\"")) }

    @Test func theFirstPluginIsTriedFirst() async {
        let tester = PluginTester(Self.both())
        #expect(await tester.outcome(of: #"{"amount":7,"customer":"c"}"#) == Self.handled("invoice 7"))
        #expect(await tester.outcome(of: #"{"amount":7,"customer":"c","card":"d"}"#) == Self.handled("invoice 7"))
    }

    @Test func theSecondPluginHandlesBodiesTheFirstRefuses() async {
        let tester = PluginTester(Self.both())
        #expect(await tester.outcome(of: #"{"amount":7,"card":"d"}"#) == Self.handled("card 7"))
        #expect(await tester.outcome(of: #"{"amount":700,"customer":"c","card":"d"}"#) == Self.handled("card 700"))
    }

    @Test func aBodyThatFitsNeitherReportsBothErrors() async throws {
        let outcome = await PluginTester(Self.both()).outcome(of: #"{"amount":7}"#)
        let detail = Self.detail(outcome)
        #expect(
            detail.contains(
                "InvoicePayment: missingMember at body.customer (byte 0); CardPayment: missingMember at body.card"
            ),
            "\(detail)"
        )
        guard case .rejected(let rejection) = outcome else { return }
        #expect(rejection.bodyError?.code == .missingMember)
        #expect(rejection.bodyError?.path == "body")
    }

    @Test func theCombinedErrorHasTheCommonCodeAndPath() async throws {
        let outcome = await PluginTester(Self.both()).outcome(of: #"{"amount":"7"}"#)
        guard case .rejected(let rejection) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(rejection.bodyError?.code == .typeMismatch)
        #expect(rejection.bodyError?.path == "body.amount")
        #expect(rejection.bodyError?.offset != nil)
    }

    @Test func aDeclineAndADecodingErrorAreBothReported() async {
        let detail = Self.detail(await PluginTester(Self.both()).outcome(of: #"{"amount":700,"customer":"c"}"#))
        #expect(
            detail.contains("InvoicePayment: invoices go up to 100; CardPayment: missingMember at body.card"),
            "\(detail)"
        )
    }

    @Test func twoDeclinesReportBothReasons() async {
        let plugin = FallbackPlugin(NumberPayment(), otherwise: NumberPayment())
        let detail = Self.detail(await PluginTester(plugin).outcome(of: "10"))
        #expect(detail == "declined: NumberPayment: it is too much; NumberPayment: it is too much")
    }

    @Test func anotherErrorOfTheFirstPluginIsAFailure() async {
        let plugin = FallbackPlugin(NumberPayment(), otherwise: CardPayment())
        #expect(reason(await PluginTester(plugin).outcome(of: "0")) == "threw")
    }

    @Test func fallbacksCanBeNested() async {
        for plugin in [
            PluginTester(FallbackPlugin(Self.both(), otherwise: NumberPayment())),
            PluginTester(
                FallbackPlugin(InvoicePayment(), otherwise: FallbackPlugin(CardPayment(), otherwise: NumberPayment()))
            ),
        ] {
            #expect(await plugin.outcome(of: #"{"amount":7,"customer":"c"}"#) == Self.handled("invoice 7"))
            #expect(await plugin.outcome(of: #"{"amount":7,"card":"d"}"#) == Self.handled("card 7"))
            #expect(await plugin.outcome(of: "7") == Self.handled("number 7"))
            let detail = Self.detail(await plugin.outcome(of: "true"))
            #expect(detail.matches(of: /typeMismatch at body/).count == 4, "\(detail)")
            let declined = Self.detail(await plugin.outcome(of: "70"))
            #expect(declined.contains("NumberPayment: it is too much"), "\(declined)")
            #expect(declined.matches(of: /typeMismatch at body/).count == 2, "\(declined)")
        }
    }

    @Test func aFallbackIsRegisteredUnderTheFirstPluginsAction() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Self.both(), from: .source("push"), options: PluginOptions(timeout: .seconds(60)))
        #expect(throws: RegistrationError.self) { try supervisor.register(CardPayment(), from: .source("push")) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let body = #"{"amount":1,"card":"d"}"#
            #expect(await intake.deliver(arrivals([message("payment", body: body)])) == [Self.handled("card 1")])
        }
    }

    @Test func aDeclineWithoutAFallbackIsARejection() async {
        let tester = PluginTester(NumberPayment())
        #expect(Self.detail(await tester.outcome(of: "10")) == "declined: it is too much")
    }
}
