import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import Testing

@Suite struct HomePageHandlerTests {
    private let opened = EventList<String>()

    private func handler(_ home: String = "https://shop.example/") throws -> HomePageHandler {
        let opened = opened
        return try HomePageHandler(home: try URLText(home)) { opened.append(contentsOf: ["home"]) }
    }

    @Test(arguments: [
        "https://shop.example/", "https://shop.example", "HTTPS://Shop.Example:443/", "https://shop.example/a/..",
    ])
    func theSitesRootIsOpenedAndCancelled(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == .cancel("opened natively: the home page"))
        #expect(opened.all == ["home"])
    }

    @Test(arguments: [
        "https://shop.example/a", "https://shop.example//", "https://shop.example/?p=42", "https://shop.example/?",
        "https://shop.example/#/cart", "http://shop.example/", "https://shop.example:8443/",
        "https://www.shop.example/",
        "https://shop.example.evil.tld/", "https://evil.tld/", "https://evilshop.example/", "myapp://shop.example/",
        "wss://shop.example/",
    ])
    func everyOtherPageIsPassedOn(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyWhereTheUserIsLedThere(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler().decide(try request("https://shop.example/", kind: kind, frame: frame))
        #expect((decision != nil) == ([.link, .redirect, .newWindow].contains(kind) && frame != .sub))
    }

    @Test(arguments: [
        "https://shop.example/start", "https://shop.example/?", "https://shop.example/#", "myapp://home/", "file:///",
        "wss://shop.example/", "ftp://shop.example/",
    ])
    func aHomeThatIsNoRootOfASiteIsRefused(text: String) {
        #expect(code { _ = try handler(text) } == .invalidHome)
    }
}
