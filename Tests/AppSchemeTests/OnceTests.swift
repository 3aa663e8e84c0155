import AppScheme
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct OnceTests {
    private static func id(_ link: String) throws -> String? {
        try AppRoutes("myapp://invite/{token}", "join", once: true).action(link).id?.text
    }

    @Test func theSameLinkHasTheSameID() throws {
        let id = try Missing.unwrap(try Self.id("myapp://invite/canary"))
        #expect(id == "link-\(LinkDigest.hexadecimal("myapp://invite/canary"))")
        #expect(try Self.id("myapp://invite/canary") == id)
        #expect(try Self.id("MyApp://invite/canary") == id)
        #expect(try Self.id("myapp://invite/x/../canary") == id)
        #expect(!id.contains("canary"))
    }

    @Test func differentLinksHaveDifferentIDs() throws {
        let links = ["a", "b", "a?x=1", "a?x=2", "a#x", "%61", "a/"].map { "myapp://invite/\($0)" }
        let ids = try links.map { try Missing.unwrap(try Self.id($0)) }
        #expect(Set(ids).count == links.count)
    }

    @Test func aLinkOfAnyLengthHasAnID() throws {
        let long = "myapp://invite/" + String(repeating: "t", count: 60_000)
        let ids = try [long, long + "t"].map { try Missing.unwrap(try Self.id($0)) }
        #expect(ids[0] != ids[1])
        #expect(ids.allSatisfy { $0.utf8.count == 69 })
    }

    @Test func otherRoutesLeaveTheIDToBeAssigned() throws {
        let routes = try AppRoutes("myapp://invite/{token}", "join")
        #expect(try routes.action("myapp://invite/a").id == nil)
    }

    @Test func theIDIsTheSendersAndReachesThePlugin() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://invite/{token}", "join", once: true))
        let seen = CallList<String>()
        let links = ["myapp://invite/a", "myapp://invite/a", "myapp://invite/b"]
        let settled = try await trial.deliver(links) { supervisor in
            try supervisor.register("join", as: RawBody.self, from: .link(scheme: "myapp")) { _, context in
                seen.add(context.id.text)
            }
        }
        #expect(seen.all.count == 3)
        #expect(seen.all[0] == seen.all[1])
        #expect(seen.all[0] != seen.all[2])
        #expect(settled.allSatisfy { $0.action?.idKey == .id })
    }
}
