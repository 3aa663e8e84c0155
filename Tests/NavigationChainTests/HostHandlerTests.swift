import NavigationChain
import SignalboxRoutes
import Testing

@Suite struct HostHandlerTests {
    private func isListed(_ text: String, _ hosts: String..., ports: HostPorts = .any) throws -> Bool {
        let handler = try HostHandler(hosts: hosts, ports: ports)
        return handler.decide(try request(text)) != nil
    }

    @Test func aHostMatchesOnlyItself() throws {
        #expect(try isListed("https://shop.example/a?b#c", "shop.example"))
        #expect(try isListed("http://SHOP.example/", "Shop.Example"))
        for other in [
            "https://www.shop.example/", "https://example/", "https://evilshop.example/",
            "https://shop.example.evil.tld/",
            "https://shop-example/", "https://shop.example1/",
            "https://evil.tld/shop.example",
            "https://evil.tld/?shop.example", "https://evil.tld/#shop.example", "https://shopxexample/",
        ] {
            #expect(try !isListed(other, "shop.example"), "\(other)")
        }
    }

    @Test func anIPv4MappedAddressMatchesItsIPv4Form() throws {
        for text in ["http://[::ffff:127.0.0.1]/", "http://[::FFFF:7f00:1]:8080/", "http://127.0.0.1/"] {
            #expect(try isListed(text, "127.0.0.1"))
            #expect(try isListed(text, "[::ffff:127.0.0.1]"))
        }
        #expect(try !isListed("http://[::ffff:127.0.0.2]/", "127.0.0.1"))
        #expect(try !isListed("http://[::1:7f00:1]/", "127.0.0.1"))
        #expect(try isListed("http://[::1]/", "[0:0::1]"))
    }

    @Test func aWildcardMatchesOnlySubdomains() throws {
        #expect(try isListed("https://www.shop.example/", "*.shop.example"))
        #expect(try isListed("https://a.b.shop.example/", "*.SHOP.example"))
        #expect(try !isListed("https://shop.example/", "*.shop.example"))
        #expect(try isListed("https://shop.example/", "*.shop.example", "shop.example"))
        for other in [
            "https://evilshop.example/", "https://www.evilshop.example/", "https://www.shop.example.evil.tld/",
            "https://wwwshop.example/", "https://example/", "https://shop.evil.example/",
        ] {
            #expect(try !isListed(other, "*.shop.example"), "\(other)")
        }
    }

    @Test func aWildcardMatchesOverlongHosts() throws {
        let long = Array(repeating: "a", count: 30_000).joined(separator: ".")
        #expect(try isListed("https://\(long).evil.example/", "*.evil.example"))
        #expect(try !isListed("https://\(long).evil.example/", "*.shop.example"))
        let single = String(repeating: "a", count: 60_000)
        #expect(try isListed("https://\(single).evil.example/", "*.evil.example"))
        #expect(try !isListed("https://\(single)evil.example/", "*.evil.example"))
        let longest = String(repeating: "b", count: 245) + ".example"
        #expect(try isListed("https://a.\(longest)/", "*.\(longest)"))
        #expect(try !isListed("https://a\(longest)/", "*.\(longest)"))
    }

    @Test func addressesMatchAsHosts() throws {
        #expect(try isListed("http://127.0.0.1:8080/", "127.0.0.1"))
        #expect(try isListed("http://[::1]/", "[0:0::1]"))
        #expect(try isListed("http://[0:0:0:0:0:0:0:1]/", "[::1]"))
        #expect(try !isListed("http://127.0.0.2/", "127.0.0.1"))
    }

    @Test(arguments: ["ws://shop.example/", "ftp://shop.example/", "myapp://shop.example/", "file://shop.example/a"])
    func otherSchemesAreIgnored(text: String) throws {
        #expect(try !isListed(text, "shop.example"))
    }

    @Test func portsMatterOnlyIfTheRuleRestrictsThem() throws {
        #expect(try isListed("https://shop.example:8443/", "shop.example"))
        #expect(try !isListed("https://shop.example:8443/", "shop.example", ports: .standard))
        #expect(try isListed("https://shop.example:443/", "shop.example", ports: .standard))
        #expect(try !isListed("https://shop.example:80/", "shop.example", ports: .standard))
        #expect(try isListed("https://shop.example:8443/", "shop.example", ports: .only([8443])))
        #expect(try !isListed("https://shop.example/", "shop.example", ports: .only([8443])))
        #expect(try isListed("https://shop.example/", "shop.example", ports: .only([443, 8443])))
    }

    @Test func theDecisionAndNameAreConfigurable() throws {
        let blocking = try HostHandler(hosts: ["ads.example"], decision: .cancel("advertisements"), name: "block")
        #expect(blocking.decide(try request("https://ads.example:99/")) == .cancel("advertisements"))
        #expect(blocking.decide(try request("https://shop.example/")) == nil)
        #expect(blocking.name == "block")
        #expect(try HostHandler(hosts: ["a.example"]).decide(try request("https://a.example/"))?.policy == .allow)
    }

    @Test(arguments: [
        "", "*", "*.", "*.*.shop.example", "shop.*", "a*.shop.example", "https://shop.example", "shop.example:443",
        "shop.example/", "shop.example?", "shop.example#", "user@shop.example", "shöp.example", "shop．example",
        "shop.example.", ".shop.example", "shop..example", "shop example", "127.1", "0x7f.0.0.1", "*.127.0.0.1",
        "*.[::1]",
        "[::1", "::1", "[::1]:80", "[::1%25eth0]", "shop%2eexample", "shop.example\n", "shop.example\\",
        "*.\(String(repeating: "a", count: 254))",
    ])
    func anInvalidHostIsRefused(text: String) {
        #expect(code { _ = try HostHandler(hosts: ["shop.example", text]) } == .invalidHost)
    }

    @Test func theNumberOfHostsIsLimited() throws {
        #expect(code { _ = try HostHandler(hosts: []) } == .invalidHost)
        let most = (0..<1_000).map { "h\($0).example" }
        #expect(try HostHandler(hosts: most).decide(try request("https://h999.example/")) != nil)
        #expect(code { _ = try HostHandler(hosts: most + ["one.example"]) } == .invalidHost)
    }
}

@Suite struct SchemeHandlerTests {
    @Test func listedSchemesArePassedOnInAnyLetterCase() throws {
        let handler = try SchemeHandler(allowing: ["HTTPS", "myapp"])
        #expect(handler.decide(try request("https://shop.example/")) == nil)
        #expect(handler.decide(try request("HTTPS://shop.example/")) == nil)
        #expect(handler.decide(try request("MyApp:product/42")) == nil)
    }

    @Test(arguments: [
        "http://shop.example/": "http", "JaVaScRiPt:alert(1)": "javascript", "data:text/html,x": "data",
        "file:///etc/passwd": "file", "intent://scan/#Intent;end": "intent", "blob:https://shop.example/1": "blob",
        "view-source:https://shop.example/": "view-source", "vbscript:x": "vbscript", "about:config": "about",
        "httpss://shop.example/": "httpss", "ws://shop.example/": "ws", "mailto:a@b": "mailto",
    ])
    func otherSchemesAreCancelledAndNamed(text: String, scheme: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        for frame in FrameRole.allCases {
            let decision = handler.decide(try request(text, frame: frame))
            #expect(decision == .cancel("the scheme \(scheme) is not allowed"), "\(text) in \(frame)")
        }
    }

    @Test(arguments: [
        "javascript", "data", "file", "intent", "blob", "about", "view-source", "vbscript", "filesystem", "JavaScript",
    ])
    func aDangerousSchemeNeedsAnExplicitOption(scheme: String) throws {
        #expect(code { _ = try SchemeHandler(allowing: ["https", scheme]) } == .dangerousScheme)
        let handler = try SchemeHandler(allowing: ["https"], dangerous: [scheme])
        #expect(handler.decide(try request("\(scheme)://x")) == nil)
    }

    @Test(arguments: [
        "", ":", "https:", "https://", "1a", "ht tp", "ä", "https\n", "*", String(repeating: "a", count: 65),
    ])
    func anInvalidSchemeIsRefused(text: String) {
        #expect(code { _ = try SchemeHandler(allowing: [text]) } == .invalidScheme)
        #expect(code { _ = try SchemeHandler(allowing: [], dangerous: [text]) } == .invalidScheme)
    }

    @Test(arguments: ["about:blank", "about:blank?x", "about:blank#x", "ABOUT:blank", "about:srcdoc", "about:srcdoc#x"])
    func emptyFrameDocumentsAreAllowedInFrames(text: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        #expect(handler.decide(try request(text, kind: .other, frame: .sub))?.policy == .allow)
        #expect(handler.decide(try request(text, kind: .other, frame: .unknown))?.policy == .allow)
        #expect(handler.decide(try request(text, kind: .other, frame: .main))?.policy == .cancel)
        #expect(handler.decide(try request(text, kind: .newWindow, frame: .unknown))?.policy == .cancel)
        #expect(handler.decide(try request(text, kind: .download, frame: .sub))?.policy == .cancel)
    }

    @Test(arguments: [
        "about:blankx", "about:Blank", "about:bl%61nk", "about:srcdoc?x", "about:srcdoc/", "about:/blank",
        "about://blank",
        "about:", "xabout:blank", "about:blank%20",
    ])
    func lookalikesOfEmptyDocumentsAreCancelled(text: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        #expect(handler.decide(try request(text, frame: .sub))?.policy == .cancel)
    }

    @Test func aListedAboutSchemeIsAllowedInTheMainFrame() throws {
        let handler = try SchemeHandler(allowing: ["https"], dangerous: ["about"])
        #expect(handler.decide(try request("about:blank", frame: .main)) == nil)
        #expect(handler.decide(try request("about:blank", frame: .sub))?.policy == .allow)
    }
}
