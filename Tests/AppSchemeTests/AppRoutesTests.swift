import AppScheme
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct AppRoutesTests {
    /// Each form of link is a route of its own; none is taken for another.
    @Test(
        arguments: [
            ("myapp://product/{id}", "myapp://product/42", "42"), ("myapp://product/{id}", "MyApp://product/42", "42"),
            ("MyApp://product/{id}", "myapp://PRODUCT/42", "42"), ("myapp://product/{id}", "myapp://product/42/", "42"),
            ("myapp://product/{id}", "myapp:///product/42", nil), ("myapp://product/{id}", "myapp:product/42", nil),
            ("myapp://product/{id}", "myapp:/product/42", nil), ("myapp://product/{id}", "other://product/42", nil),
            ("myapp://product/{id}", "myapp://product:8/42", nil),
            ("myapp://product/{id}", "myapp://product/42/x", nil),
            ("myapp:///product/{id}", "myapp:///product/42", "42"),
            ("myapp:///product/{id}", "myapp://product/42", nil),
            ("myapp:///product/{id}", "myapp:product/42", nil), ("myapp:/product/{id}", "myapp:/product/42", "42"),
            ("myapp:/product/{id}", "myapp:product/42", nil), ("myapp:product/{id}", "myapp:product/42", "42"),
            ("myapp:product/{id}", "myapp:/product/42", nil), ("myapp:product/{id}", "myapp://product/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example/p/42?utm=x", "42"),
            ("https://shop.example/p/{id}", "HTTPS://Shop.Example:443/p/42", "42"),
            ("https://shop.example/p/{id}", "http://shop.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example.evil.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://evil.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example:8443/p/42", nil),
        ] as [(String, String, String?)]
    )
    func aLinkMatchesOnlyARouteThatIsWrittenAsItIs(_ pattern: String, link: String, id: String?) throws {
        let routes = try AppRoutes(pattern, "open")
        if let id {
            let action = try routes.action(link)
            #expect(action.name == "open")
            #expect(action.id?.text == id)
            #expect(routes.match(link).pattern?.text == pattern)
        } else {
            #expect(routes.rejection(link)?.reason == .unknownAction)
            #expect(routes.match(link).pattern == nil)
        }
    }

    @Test func theRouteOrALinksCaptureNamesTheAction() throws {
        let routes = try AppRoutes([("myapp://do/{action}/{id}", nil), ("myapp://product/{number:int}", "open")])
        let named = try routes.action("myapp://do/Loading.show/x-1")
        #expect(named.name == "Loading.show")
        #expect(named.id?.text == "x-1")
        #expect(named.members.isEmpty)
        let fixed = try routes.action("myapp://product/42")
        #expect(fixed.name == "open")
        #expect(fixed.id == nil)
        #expect(fixed.members == ["number=42"])
    }

    @Test func theMostSpecificRouteDecidesWhateverTheirOrder() throws {
        let written: [(String, ActionName?)] = [
            ("myapp://product/new", "create"), ("myapp://product/{number:int}", "open"),
            ("myapp://product/{name}", "search"), ("myapp://product/{rest...}", "browse"),
        ]
        for order in [written, written.reversed()] {
            let routes = try AppRoutes(order)
            #expect(try routes.action("myapp://product/new").name == "create")
            #expect(try routes.action("myapp://product/42").name == "open")
            #expect(try routes.action("myapp://product/lamp").name == "search")
            #expect(try routes.action("myapp://product/lamp/blue").name == "browse")
        }
    }

    @Test(arguments: ["1st", "a%20b", "%C3%A9", "signalbox.stop", String(repeating: "a", count: 65)])
    func anActionThatIsNoNameIsMalformed(_ name: String) throws {
        let routes = try AppRoutes("myapp://do/{action}", nil)
        let rejection = try Missing.unwrap(routes.rejection("myapp://do/\(name)"))
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("{action}"))
    }

    @Test func anIDOfMoreThan128BytesIsMalformed() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        let most = String(repeating: "i", count: ActionID.maximumLength)
        #expect(try routes.action("myapp://do/\(most)").id?.text == most)
        #expect(routes.rejection("myapp://do/\(most)i")?.reason == .malformed)
    }

    @Test func aLinkThatCannotBeReadIsMalformedAndSaysWhere() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do", once: false)
        for link in ["", "do", "//do/1", "myapp://a@do/1", "my app://do/1", "myapp://do/\u{1}", " myapp://do/1"] {
            let match = routes.match(link)
            #expect(match.facts == LinkFacts(scheme: "", universalHost: nil))
            #expect(routes.rejection(link)?.reason == .malformed)
            #expect(routes.rejection(link)?.detail.contains("at byte") == true)
        }
    }

    @Test func aQuestionAboutALinkSaysWhatIsKnownAboutIt() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        #expect(routes.match("MYAPP://x").facts == LinkFacts(scheme: "myapp", universalHost: nil))
        #expect(routes.match("https://A.example/").facts == LinkFacts(scheme: "https", universalHost: "a.example"))
        #expect(routes.match("http://a.example:81").facts == LinkFacts(scheme: "http", universalHost: "a.example:81"))
        #expect(routes.match("https://a.example:443").facts == LinkFacts(scheme: "https", universalHost: "a.example"))
        #expect(routes.match("wss://a.example").facts == LinkFacts(scheme: "wss", universalHost: nil))
    }

    @Test func whatNoRouteMatchesIsSaidWithSchemeAndHostAlone() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        let rejection = try Missing.unwrap(routes.rejection("myapp://secret-host/secret-path?secret=1#secret"))
        #expect(rejection.detail == #"no route matches this link of scheme myapp and host "secret-host""#)
        let long = try Missing.unwrap(routes.rejection("myapp://" + String(repeating: "h", count: 5_000)))
        #expect(long.detail.utf8.count < 200)
        #expect(routes.rejection("myapp:x")?.detail == "no route matches this link of scheme myapp and no host")
    }
}
