import AppScheme
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct FallbackTests {
    private static func routes() throws -> AppRoutes {
        try AppRoutes(
            [("myapp://do/{action}", nil), ("https://shop.example/p/{id}", "open"), ("http://old.example:81/", "old")],
            fallback: "elsewhere"
        )
    }

    @Test(
        arguments: [
            "myapp://other/x?q=1#f", "myapp:x", "myapp:///", "https://shop.example/", "https://shop.example/p/1/2",
            "http://old.example:81/x",
        ])
    func aLinkOfAKnownSchemeOrHostGoesToTheFallbackWithItsText(_ link: String) throws {
        let action = try Self.routes().action(link)
        #expect(action.name == "elsewhere")
        #expect(action.id == nil)
        #expect(action.members == ["url=\(try URLText(link).text)"])
    }

    @Test(
        arguments: [
            "other://do/x", "https://evil.example/p/1", "https://shop.example.evil.example/", "http://shop.example/",
            "https://shop.example:444/", "http://old.example/", "javascript:alert(1)", "file:///etc/passwd",
        ])
    func aLinkOfAnyOtherDoesNot(_ link: String) throws {
        #expect(try Self.routes().rejection(link)?.reason == .unknownAction)
    }

    @Test func aLinkThatARouteMatchesBadlyIsRejectedAndDoesNotFallBack() throws {
        #expect(try Self.routes().rejection("myapp://do/not%20a%20name")?.reason == .malformed)
        #expect(try Self.routes().rejection("myapp://do/name?a=1&a=2")?.reason == .malformed)
    }

    @Test func theBodyOfTheFallbackIsTheLinkInNormalForm() async throws {
        let settled = try await LinkTrial(try Self.routes()).deliver("MYAPP://other/a b?q=\"1\"")
        #expect(settled.action?.name == "elsewhere")
        #expect(settled.body == #"{"url":"myapp://other/a%20b?q=%221%22"}"#)
        #expect(settled.original == "MYAPP://other/a b?q=\"1\"")
    }
}
