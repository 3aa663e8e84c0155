import SignalboxRoutes
import Testing

/// Access depends on the comparison of origins. Each of these is the trusted origin, or is not.
@Suite struct WebOriginTests {
    static let trusted = "https://app.example"

    static let origins: [(text: String, isTrusted: Bool)] = [
        ("https://app.example", true),
        ("HTTPS://APP.EXAMPLE", true),
        ("https://App.Example", true),
        ("https://app.example:443", true),
        ("https://app.example:0443", true),
        ("https://app.example:", true),
        ("https://app.example:444", false),
        ("http://app.example", false),
        ("http://app.example:443", false),
        ("wss://app.example", false),
        ("ftp://app.example", false),
        ("https://app.example.", false),
        ("https://app.example.evil.example", false),
        ("https://evil-app.example", false),
        ("https://sub.app.example", false),
        ("https://example", false),
        ("https://app.examplе", false),
        ("https://app\u{FF0E}example", false),
        ("https://app.example/", false),
        ("https://app.example/path", false),
        ("https://app.example?", false),
        ("https://app.example#", false),
        ("https://user@app.example", false),
        ("capacitor://user@localhost", false),
        ("capacitor://caf%C3%A9", false),
        ("https://app.example@evil.example", false),
        ("https://evil.example#app.example", false),
        ("https:app.example", false),
        ("https:\\\\app.example", false),
        ("https://app%2Eexample", false),
        (" https://app.example", false),
        ("https://app.example\t", false),
        ("null", false),
        ("", false),
        ("*", false),
        ("app.example", false),
        ("//app.example", false),
        ("file://", false),
        ("file://app.example", false),
        ("data:text/html,https://app.example", false),
        ("blob:https://app.example/1", false),
        ("about:blank", false),
        ("javascript://app.example", false),
        ("myapp://app.example", false),
    ]

    @Test(arguments: origins) func anOriginMatchesOnlyBySchemeHostAndPort(_ text: String, _ isTrusted: Bool)
        throws
    {
        #expect(((try? WebOrigin(text)) == (try WebOrigin(Self.trusted))) == isTrusted)
    }

    static let none = [
        "null", "file:///a", "file://server", "data:x", "blob:https://a/1", "about:blank", "javascript://a", "mailto:a",
        "myapp:a", "myapp:///", "https://a/", "https://a?b", "https://a#b", "intent://a",
    ]

    @Test(arguments: none) func textWithoutAnOriginIsRefused(_ text: String) {
        let error = #expect(throws: URLTextError.self) { try WebOrigin(text) }
        #expect(error?.reason == .notAnOrigin)
    }

    @Test func anOriginIsSerializedLikeInABrowser() throws {
        #expect(try WebOrigin("HTTPS://App.Example:443").description == "https://app.example")
        #expect(try WebOrigin("http://[::0:1]:8080").description == "http://[::1]:8080")
        #expect(try WebOrigin("capacitor://LocalHost").description == "capacitor://localhost")
        #expect(try WebOrigin("ionic://localhost:8").port == 8)
        #expect(try WebOrigin("https://a").port == 443)
    }

    @Test func onlyWebURLsHaveAnOrigin() throws {
        #expect(try URLText("https://a:8/b?c").origin == WebOrigin("https://a:8"))
        #expect(try URLText("ws://A/").origin?.description == "ws://a")
        for text in ["file:///a", "myapp://a", "data:a", "about:srcdoc", "blob:https://a/1"] {
            #expect(try URLText(text).origin == nil)
        }
    }
}
