import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import Testing

@Suite struct DeepLinkHandlerTests {
    private let offered = EventList<String>()

    private func handler(_ schemes: String..., opens: Bool = true) throws -> DeepLinkHandler {
        let offered = offered
        return try DeepLinkHandler(schemes: schemes) { url in
            offered.append(contentsOf: [url.text])
            return opens
        }
    }

    @Test func whatIsOpenedIsCancelled() async throws {
        let decision = try await handler("myapp").decide(try request("MYAPP://product/42?a=b"))
        #expect(decision == .cancel("opened natively: a deep link of the scheme myapp"))
        #expect(offered.all == ["myapp://product/42?a=b"])
    }

    @Test func whatIsNotOpenedIsPassedOn() async throws {
        #expect(try await handler("myapp", opens: false).decide(try request("myapp:product/42")) == nil)
        #expect(offered.all == ["myapp:product/42"])
    }

    @Test(arguments: ["https://shop.example/", "myapps:product/42", "xmyapp:product/42", "javascript:myapp:1"])
    func otherSchemesAreNotOffered(text: String) async throws {
        #expect(try await handler("myapp").decide(try request(text)) == nil)
        #expect(offered.all.isEmpty)
    }

    @Test func subFramesOpenNothing() async throws {
        let handler = try handler("myapp")
        #expect(try await handler.decide(try request("myapp:pay", frame: .sub)) == nil)
        #expect(offered.all.isEmpty)
        #expect(try await handler.decide(try request("myapp:pay", frame: .unknown)) != nil)
    }

    @Test func aListHasSchemesAndNoDangerousOnes() throws {
        #expect(code { _ = try handler() } == .invalidScheme)
        #expect(code { _ = try handler("my app") } == .invalidScheme)
        #expect(code { _ = try handler("myapp", "javascript") } == .dangerousScheme)
        #expect(code { _ = try handler("intent") } == .dangerousScheme)
    }
}
