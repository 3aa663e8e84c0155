import AppScheme
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite struct OnceTests {
    private static func id(_ link: String, _ pattern: String = "myapp://invite/{token}") throws -> String? {
        try AppRoutes(pattern, "join", once: true).action(link).id?.text
    }

    @Test func theIDIsADigestOfTheLink() throws {
        let id = try Missing.unwrap(try Self.id("myapp://invite/canary"))
        #expect(id.hasPrefix("link-"))
        #expect(id.dropFirst(5).allSatisfy { "0123456789abcdef".contains($0) })
        #expect(id.utf8.count == 69)
        #expect(!id.contains("canary"))
    }

    @Test(
        arguments: [
            "myapp://invite/canary", "MyApp://invite/canary", "myapp://Invite/canary", "myapp://invite/x/../canary",
            "myapp://invite/canary/", "myapp://invite/canary?", "myapp://invite/canary#top", "myapp://invite/canary/?#",
            "myapp://invite/%63anary",
        ])
    func equivalentLinksHaveTheSameID(_ link: String) throws {
        let id = try Missing.unwrap(try Self.id("myapp://invite/canary"))
        #expect(try Self.id(link) == id)
    }

    @Test func listedItemsDetermineTheIDInAnyOrder() throws {
        let all = try Self.id("myapp://invite/a?x=1&y=2")
        #expect(try Self.id("myapp://invite/a?y=2&x=1") == all)
        #expect(try Self.id("myapp://invite/a?y=%32&x=1&token=b") == all)
        #expect(try Self.id("myapp://invite/a?x=1&y=2&z=3") != all)

        let named = "myapp://invite/{token}?from={sender}"
        let one = try Self.id("myapp://invite/a?from=b", named)
        #expect(try Self.id("myapp://invite/a?utm=1&from=b&utm=2", named) == one)
        #expect(try Self.id("myapp://invite/a?from=c", named) != one)
        #expect(try Self.id("myapp://invite/a", named) != one)
        #expect(try Self.id("myapp://invite/a?from=", named) != Self.id("myapp://invite/a", named))
    }

    @Test func anItemThatNamesTheActionDeterminesTheID() throws {
        let routes = try AppRoutes("myapp://do?a={action}", nil, once: true)
        #expect(try routes.action("myapp://do?a=open").id != routes.action("myapp://do?a=close").id)
        #expect(try routes.action("myapp://do?a=open").id == routes.action("myapp://do?a=open#x").id)
    }

    @Test func differentLinksHaveDifferentIDs() throws {
        let links = [
            "a", "b", "A", "a?x=1", "a?x=2", "a?x=", "a?=x", "a?x=1&y=", "a?x=1%26y=", "a?x=12:yz", "a%2F", "a%3Fx=1",
            "a?x=1&x=%ZZ", "a?x=1&x=1", "a?x=1&y&y=%", "a?x=1&x=%&y",
        ]
        let ids = try links.map { try Missing.unwrap(try Self.id("myapp://invite/\($0)")) }
        #expect(Set(ids).count == links.count)
    }

    /// Pairs that would be equal without lengths, and pairs that differ in the letter case of a capture.
    @Test(
        arguments: [
            ("myapp://{a}/{b}", "myapp://ab/c", "myapp://a/bc"),
            ("myapp://x/{rest...}", "myapp://x/a/b", "myapp://x/ab"),
            ("myapp://{token}", "myapp://aB", "myapp://Ab"), ("myapp://x/{rest...}", "myapp://x/a//b", "myapp://x/a/b"),
            ("myapp://x", "myapp://x?a=b1:c", "myapp://x?a=b&c="), ("myapp://x", "myapp://x?a=b", "myapp://x?ab="),
        ])
    func similarLinksHaveDifferentIDs(_ pattern: String, one: String, other: String) throws {
        let id = try Missing.unwrap(try Self.id(one, pattern))
        #expect(try Self.id(other, pattern) != id)
    }

    @Test func schemeHostPortAndPathDetermineTheID() throws {
        let patterns = [
            "myapp://x/{t}", "myapp:///x/{t}", "myapp:/x/{t}", "myapp:x/{t}", "other://x/{t}", "myapp://x:8/{t}",
        ]
        let ids = try patterns.map { pattern in
            try Self.id(String(pattern.dropLast(3)) + "1", pattern)
        }
        #expect(Set(ids.compactMap { $0 }).count == patterns.count)
    }

    @Test func aLinkOfAnyLengthHasAnID() throws {
        let long = "myapp://invite/" + String(repeating: "t", count: 60_000)
        let ids = try [long, long + "t"].map { try Missing.unwrap(try Self.id($0)) }
        #expect(ids[0] != ids[1])
        #expect(ids.allSatisfy { $0.utf8.count == 69 })
    }

    @Test func linksOfOtherRoutesHaveNoID() throws {
        let routes = try AppRoutes("myapp://invite/{token}", "join")
        #expect(try routes.action("myapp://invite/a").id == nil)
    }

    @Test func thePluginReceivesTheLinkID() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://invite/{token}", "join", once: true))
        let seen = CallList<String>()
        let settled = try await trial.deliver(["myapp://invite/a", "myapp://invite/b"]) { supervisor in
            try supervisor.register(
                Registration("join", as: RawBody.self, from: .link(scheme: "myapp")) { _, context in
                    seen.add(context.id.text)
                }
            )
        }
        #expect(seen.all.count == 2)
        #expect(seen.all[0] != seen.all[1])
        #expect(settled.allSatisfy { $0.action?.idKey == .id })
    }

    @Test func aReopenedLinkDoesNotRunAgain() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://invite/{token}", "join", once: true))
        let seen = CallList<String>()
        let links = [
            "myapp://invite/a?x=1&y=2", "MyApp://Invite/a?y=2&x=1#top", "myapp://invite/b", "myapp://invite/a?x=1&y=2",
            "myapp://invite/a?x=1",
        ]
        let settled = try await trial.deliver(links) { supervisor in
            try supervisor.register(
                Registration("join", as: RawBody.self, from: .link(scheme: "myapp")) { _, context in
                    seen.add(context.action.body.jsonText)
                }
            )
        }
        #expect(seen.all.count == 3)
        #expect(Set(seen.all).count == 3)
        #expect(settled.map(\.outcome) == Array(repeating: .handled(reply: nil), count: 5))
        #expect(trial.reported.all.count == 5)
    }

    @Test func aFailedLinkRunsAgainWhenReopened() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://invite/{token}", "join", once: true))
        let seen = CallList<String>()
        // Opens the links one after another, because a link that is opened during a call shares its outcome.
        let supervisor = trial.makeSupervisor()
        try supervisor.register(
            Registration("join", as: RawBody.self, from: .link(scheme: "myapp")) { _, context in
                seen.add(context.id.text)
                if seen.all.count == 1 { throw Missing() }
            }
        )
        try supervisor.add(trial.adapter)
        try await supervisor.whileRunning {
            for count in 1...3 {
                trial.inbox.open("myapp://invite/a")
                _ = await trial.settled.first(count)
            }
        }
        #expect(seen.all.count == 2)
        #expect(trial.settled.all.map(\.outcome.name) == ["failed", "handled", "handled"])
    }

    @Test func withoutOnceALinkRunsEachTimeItIsOpened() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://show/{id}", "show"))
        let seen = CallList<String>()
        _ = try await trial.deliver(["myapp://show/1", "myapp://show/1"]) { supervisor in
            try supervisor.register(
                Registration("show", as: RawBody.self, from: .link(scheme: "myapp")) { _, context in
                    seen.add(context.id.text)
                }
            )
        }
        #expect(seen.all == ["1", "1"])
    }
}

/// The examples of NIST for FIPS 180-4, and the lengths at which the padding changes.
@Suite struct LinkDigestTests {
    @Test(
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
                    + "nopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func theDigestMatchesTheNISTExamples(_ message: String, digest: String) {
        #expect(LinkDigest.hexadecimal(message) == digest)
    }

    @Test(
        arguments: [
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
            (65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
            (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
            (120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
        ])
    func messagesAtBlockBoundariesAreHashed(_ count: Int, digest: String) {
        #expect(LinkDigest.hexadecimal(String(repeating: "a", count: count)) == digest)
    }
}
