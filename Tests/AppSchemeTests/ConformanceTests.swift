import AppScheme
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    private static let inapplicable: Set<AdapterConformance.Case> = [.answersEverySender]

    @Test func aLinkSourceConforms() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(Set(report.passed) == Set(AdapterConformance.Case.allCases).subtracting(Self.inapplicable))
        #expect(Set(report.skipped.keys) == Self.inapplicable)
    }

    @Test func concurrentCasesConform() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }

    private static let suite = AdapterConformance { source in try LinkSubject(source) }
}

/// A sender of links: the suite's messages as URLs, with the body's members in the query.
struct LinkSubject: ConformanceSubject {
    private struct Members: Decodable {
        let number: Int
        let text: String
    }

    let adapter: any Adapter
    let batchBound = 1
    /// Only a few links are in flight, which do not fill a window.
    let waitsForEachBatch = true
    let submitsWhileOneRuns = true
    private let inbox: LinkInbox

    init(_ source: SourceName) throws {
        inbox = LinkInbox(links: 1_000, bytes: 16 * 1_024 * 1_024)
        adapter = AppSchemeAdapter(
            source: source,
            routes: try AppRoutes("conformance://{action}/{id}", nil),
            links: inbox,
            logger: Logger(label: "links") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            let link = try LinkSubject.link(message)
            guard inbox.open(link) else { throw ConformanceError("the inbox is full") }
        }
    }

    func end() async {
        inbox.close()
    }

    private static func link(_ message: ConformanceMessage) throws -> String {
        // An incomplete escape is not a URL. The id precedes it.
        guard let action = message.action else { return "conformance://record/\(message.id)/%" }
        let members = try Body(json: Bytes(message.body)).decode(Members.self)
        return "conformance://\(action)/\(message.id)?number=\(members.number)&text=\(escaped(members.text))"
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): [byte]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
