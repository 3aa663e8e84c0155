import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import Testing

@Suite struct ExternalBrowserHandlerTests {
    private let opened = EventList<String>()

    private func handler() throws -> ExternalBrowserHandler {
        let opened = opened
        return try ExternalBrowserHandler(ownHosts: ["shop.example", "*.shop.example"]) { url in
            opened.append(contentsOf: [url.text])
        }
    }

    @Test(arguments: [
        "https://other.example/a?b", "http://other.example/", "https://evilshop.example/",
        "https://shop.example.evil.tld/",
    ])
    func aForeignLinkGoesToTheBrowser(text: String) async throws {
        let decision = try await handler().decide(try request(text))
        #expect(decision?.policy == .cancel)
        #expect(decision?.reason.contains("opened in the browser") == true)
        #expect(opened.all == [text])
    }

    @Test(arguments: [
        "https://shop.example/", "https://www.shop.example/", "https://SHOP.example:8443/", "myapp://other.example/",
        "mailto:a@other.example", "ftp://other.example/", "javascript:open('https://other.example')",
    ])
    func ourOwnHostsAndOtherSchemesArePassedOn(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyLinksAndNewWindowsLeaveThePage(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler().decide(try request("https://other.example/", kind: kind, frame: frame))
        let isMeant = kind == .newWindow || kind == .link && frame != .sub
        #expect((decision != nil) == isMeant)
        #expect(opened.all.count == (isMeant ? 1 : 0))
    }

    @Test func aBrowserThatDoesNotOpenCancelsToo() async throws {
        struct NoBrowser: Error {}
        let handler = try ExternalBrowserHandler(ownHosts: ["shop.example"]) { _ in throw NoBrowser() }
        let verdict = await (try NavigationRouter([handler], fallback: .all, handlerDeadline: .patient))
            .decide(try request("https://other.example/"))
        #expect(verdict.policy == .cancel)
        #expect(verdict.reason.contains("NoBrowser"))
    }

    @Test func ownHostsMustBeHosts() {
        #expect(code { _ = try ExternalBrowserHandler(ownHosts: []) { _ in } } == .invalidHost)
        #expect(code { _ = try ExternalBrowserHandler(ownHosts: ["https://shop.example"]) { _ in } } == .invalidHost)
    }
}
