import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct PagePolicyTests {
    private static let all: [WebSocketPagePolicy] = [.strict, .site, .siteWithInlineCode, .shared]

    private func headers(_ policy: WebSocketPagePolicy) -> [String: String] {
        Dictionary(policy.headers.map { ($0.name, $0.value) }) { $1 }
    }

    private func content(_ policy: WebSocketPagePolicy) -> String {
        headers(policy)["Content-Security-Policy"] ?? ""
    }

    @Test(arguments: all) func whateverThePolicyNobodyFramesADocumentOrMovesItsBase(policy: WebSocketPagePolicy) {
        let content = content(policy)
        #expect(content.contains("frame-ancestors 'none'") && content.contains("base-uri 'none'"))
        #expect(!content.contains("*") && !content.contains("unsafe-eval") && !content.contains("http"))
        #expect(policy.headers.allSatisfy { HeaderField($0.name, $0.value) != nil })
    }

    @Test func theStrictOneIsTheDefaultAndAllowsNothing() {
        #expect(WebSocketPage(contentType: "text/html", body: []).policy == .strict)
        #expect(
            content(.strict) == "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        #expect(content(.shared) == content(.strict))
    }

    @Test func aSiteHasItsOwnScriptsAndInlineCodeIsAskedForByName() {
        #expect(content(.site).hasPrefix("default-src 'self'; ") && !content(.site).contains("unsafe"))
        #expect(content(.siteWithInlineCode).contains("script-src 'self' 'unsafe-inline'"))
    }

    @Test func onlyWhatIsSharedMayBeLoadedByOtherSites() {
        for policy in Self.all {
            let expected = policy == .shared ? "cross-origin" : "same-origin"
            #expect(headers(policy)["Cross-Origin-Resource-Policy"] == expected)
        }
    }

    @Test func eachPageHasItsOwn() {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.pages = [
            "/a": WebSocketPage(contentType: "text/html", body: [], policy: .site),
            "/b": WebSocketPage(contentType: "text/html", body: []),
        ]
        let served = ServerPages.all(of: configuration).mapValues { page in
            page.headers.first { $0.name == "Content-Security-Policy" }?.value
        }
        #expect(served == ["/a": content(.site), "/b": content(.strict), "/health": content(.strict)])
    }
}
