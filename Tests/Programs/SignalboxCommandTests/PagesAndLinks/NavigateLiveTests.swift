import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct NavigateLiveTests {
    private static let configuration = """
        navigation:
          chain:
            - { schemes: [https, myapp] }
            - { deep_links: [myapp] }
            - { home: 'https://shop.example/' }
            - { paths: ['/product/{n:int}'], hosts: [shop.example], name: screens }
            - { external_browser: { own_hosts: [shop.example] } }
            - { hosts: [files.shop.example], decision: download, name: files }
            - { hosts: [shop.example] }
          fallback: cancel
        """

    private static func navigate(_ arguments: String..., input: String? = nil) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            finished = try await trial.run(
                ["navigate", "c.yaml"] + arguments,
                input: input.map { Array($0.utf8) }
            )
        }
        return try #require(finished)
    }

    @Test func aVerdictNamesTheDeciderAndTheHandlersCalled() async throws {
        let finished = try await NavigateLiveTests.navigate("HTTPS://shop.example/cart")
        #expect(finished.status == 0)
        #expect(finished.errors.isEmpty)
        let passed = ["scheme", "deepLink", "homePage", "screens", "externalBrowser", "files"].map {
            "{\"handler\":\"\($0)\",\"answer\":\"passed\"}"
        }
        let expected =
            #"{"url":"https://shop.example/cart","policy":"allow","decider":"host","reason":"the host is listed","trace":["#
            + passed.joined(separator: ",")
            + #",{"handler":"host","answer":"decided","policy":"allow","reason":"the host is listed"}]}"#
        #expect(finished.output == [expected])
    }

    @Test(arguments: [
        ("myapp://x", "deepLink", "would be opened natively: a deep link with the scheme myapp"),
        ("https://shop.example", "homePage", "would be opened natively: the home page"),
        ("https://shop.example/product/7", "screens", "would be opened natively: /product/{n:int}"),
        (
            "https://other.example/", "externalBrowser",
            "would be opened in the browser: other.example is not a listed host"
        ),
    ])
    func externalURLsAreReportedWithoutBeingOpened(_ url: String, _ decider: String, _ reason: String) async throws {
        let finished = try await NavigateLiveTests.navigate(url)
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        let words = "\"policy\":\"cancel\",\"decider\":\"\(decider)\",\"reason\":\"\(reason)"
        #expect(finished.output.first?.contains(words) == true, "\(finished.output)")
    }

    @Test(arguments: [
        ("https://good.example@evil.example", #""decider":"url","reason":"userinfo at byte 20:"#),
        ("https:\\\\evil", #""decider":"url","reason":"ambiguousURL at byte 6:"#),
        ("JaVaScRiPt:alert(1)", #""decider":"scheme","reason":"the scheme javascript is not allowed","trace":[{"#),
        ("java\tscript:alert(1)", #""decider":"url","reason":"controlCharacter at byte 4:"#),
        ("https://shop\u{FF0E}example/", #""decider":"url","reason":"internationalHost at byte 12:"#),
        ("https://shop.example.evil.example/product/7", #""decider":"externalBrowser""#),
        ("https://shop.example%2eevil.example/", #""decider":"url","reason":"ambiguousURL at byte 20:"#),
        ("data:text/html,x", #""decider":"scheme""#), ("file:///etc/passwd", #""decider":"scheme""#),
        ("https://shop.example/%2e%2e/", #""decider":"url","reason":"ambiguousURL"#), ("", #""decider":"url""#),
        (" https://shop.example/cart", #""decider":"url","reason":"surroundingSpace at byte 0:"#),
        ("http://shop.example/cart", #""decider":"scheme","reason":"the scheme http is not allowed""#),
    ])
    func aHostileURLIsCancelledWithAReason(_ url: String, _ words: String) async throws {
        for finished in [
            try await NavigateLiveTests.navigate(url),
            try await NavigateLiveTests.navigate("--stdin", input: "\(url)\n"),
        ] {
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output.count == 1)
            #expect(finished.output.first?.contains("\"policy\":\"cancel\",") == true)
            #expect(finished.output.first?.contains(words) == true, "\(finished.output)")
        }
    }

    @Test func aPathThatCannotBeReadLoadsOnlyWhereTheConfigurationSaysSo() async throws {
        let strict = "navigation:\n  chain: [{ hosts: [shop.example] }]\n  fallback: cancel\n"
        let url = "https://shop.example/caf%E9/100%"
        let files = ["strict.yaml": strict, "lenient.yaml": strict + "  paths: lenient\n"]
        try await LinkTrial.with(files) { trial in
            let refused = try await trial.run(["navigate", "strict.yaml", url])
            #expect(refused.status == CommandStatus.notAsExpected.rawValue)
            #expect(refused.output.first?.contains("add `paths: lenient` to `navigation`") == true, "\(refused.output)")
            let loaded = try await trial.run(["navigate", "lenient.yaml", url])
            #expect(loaded.status == 0)
            #expect(loaded.output.first?.contains(#""policy":"allow","decider":"host""#) == true, "\(loaded.output)")
            let other = try await trial.run(["navigate", "lenient.yaml", "https://evil.example/100%"])
            #expect(other.status == CommandStatus.notAsExpected.rawValue)
        }
    }

    @Test func kindAndFrameArePassedToTheChain() async throws {
        let product = "https://shop.example/product/7"
        #expect(try await NavigateLiveTests.navigate(product, "--kind", "form").status == 0)
        #expect(try await NavigateLiveTests.navigate(product, "--kind", "redirect").status == 1)
        #expect(try await NavigateLiveTests.navigate(product, "--frame", "sub").status == 0)
        let other = try await NavigateLiveTests.navigate("https://other.example", "--frame", "sub")
        #expect(other.output.first?.contains(#""decider":"fallback","reason":"no handler decided""#) == true)
    }

    @Test func aDownloadDecisionIsStatusZero() async throws {
        let finished = try await NavigateLiveTests.navigate("https://files.shop.example/a.pdf", "--kind", "redirect")
        #expect(finished.status == 0)
        #expect(finished.output.first?.contains(#""policy":"download","decider":"files""#) == true)
    }

    @Test func aCancelledURLAmongSeveralIsStatusOne() async throws {
        let lines = "https://shop.example/a\nnothing\nhttps://shop.example/b\n"
        let finished = try await NavigateLiveTests.navigate("--stdin", input: lines)
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        let allowed = finished.output.map { $0.contains(#""policy":"allow""#) }
        #expect(allowed == [true, false, true])
        #expect(finished.output.dropFirst().first?.hasPrefix(#"{"input":"nothing","policy":"cancel""#) == true)
    }

    @Test func aNonUTF8LineIsCancelled() async throws {
        try await LinkTrial.with(["c.yaml": NavigateLiveTests.configuration]) { trial in
            let arguments = ["navigate", "--stdin", "c.yaml"]
            let finished = try await trial.run(arguments, input: [0x61, 0x3A, 0xFF, 0x0A])
            #expect(
                finished.output == [
                    #"{"input":"YTr/","inputEncoding":"base64","policy":"cancel","decider":"url","reason":"notUTF8 at byte 2: the line is not UTF-8","trace":[{"handler":"url","answer":"decided","policy":"cancel","reason":"notUTF8 at byte 2: the line is not UTF-8"}]}"#
                ]
            )
        }
    }

    @Test func aConfigurationWithoutAChainIsRefused() async throws {
        try await LinkTrial.with(["c.yaml": "sources: {}\nplugins: []\n"]) { trial in
            let finished = try await trial.run(["navigate", "c.yaml", "a:b"])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(finished.errors.contains { $0.contains("c.yaml:1:1: 'navigation' is missing;") })
        }
    }
}
