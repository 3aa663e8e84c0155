import Foundation
import SignalboxRoutes
import Testing

@testable import MQTTPush
@testable import SignalboxCommand
@testable import SignalboxCore

@Suite struct MessageTemplateTests {
    private static let time = WallTime(seconds: 1_700_000_000, nanoseconds: 12_345_678)

    private static func facts(_ change: (inout PushProperties) -> Void = { _ in }) -> PushFacts {
        var properties = PushProperties()
        change(&properties)
        return PushFacts(
            broker: "b:1883",
            topic: "push/é",
            captures: RouteCaptures(),
            retained: true,
            qos: 1,
            tls: false,
            properties: properties.isEmpty ? nil : properties
        )
    }

    private static func render(
        _ template: String,
        _ facts: PushFacts?,
        payload: [UInt8] = Array("hi".utf8)
    ) throws -> String? {
        let body = RawBody(recognizing: Bytes(payload))
        let bytes = try MessageTemplate(template).bytes(for: TemplateMessage(body, facts, receivedAt: time))
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("%t|%p|%q|%r|%l", "push/é|hi|1|1|2"),
        ("%C|%D|%E|%F|%P|%R", "text/plain|cd|9|1|k:v k:w|re/x"),
        ("%A|%S|%m", "||0"),
        ("%x %X", "6869 6869"),
        ("%U", "1700000000.012345678"),
        ("@N", "012345678"),
        ("%%@@\\\\", "%@\\"),
        ("\\0\\a\\e\\n\\r\\t\\v", "\0\u{7}\u{1B}\n\r\t\u{B}"),
        // Widths count bytes, as in printf(3).
        ("[%10t][%-10t][%010t]", "[   push/é][push/é   ][   push/é]"),
        ("[%3l][%03l][%-03l]", "[  2][002][2  ]"),
        ("[%10.4t][%.4C]", "[      push][text]"),
        ("[%5q][%05r][%5P][%10D]", "[1][1][k:v k:w][cd]"),
        // A payload is never cut.
        ("[%.1p][%1x][%4p][%-4p][%05x]", "[hi][6869][  hi][hi  ][06869]"),
        ("[%4A][%04S]", "[    ][0000]"),
        ("plain text", "plain text"),
        ("", ""),
    ])
    func aSequenceShowsAPartOfTheMessage(_ template: String, _ shown: String) throws {
        let facts = MessageTemplateTests.facts { properties in
            properties.contentType = "text/plain"
            properties.correlationData = Array("cd".utf8)
            properties.messageExpiry = 9
            properties.payloadFormat = 1
            properties.responseTopic = "re/x"
            properties.userProperties = [
                PushProperties.UserProperty(name: "k", value: "v"), PushProperties.UserProperty(name: "k", value: "w"),
            ]
        }
        #expect(try MessageTemplateTests.render(template, facts) == shown)
    }

    @Test func aMessageWithoutTopicAndPropertiesHasEmptyParts() throws {
        #expect(try MessageTemplateTests.render("[%t%C%D%E%F%P%R][%p][%q%r]", nil) == "[][hi][00]")
    }

    @Test func timesAreThoseOfTheLocalZone() throws {
        let date = Date(timeIntervalSince1970: TimeInterval(MessageTemplateTests.time.seconds))
        let year = Calendar(identifier: .gregorian).component(.year, from: date)
        #expect(try MessageTemplateTests.render("@Y", nil) == "\(year)")
        let text = try #require(try MessageTemplateTests.render("%I", nil))
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "yyyy-MM-dd'T'HH:mm:ssZ"
        #expect(format.date(from: text) == date)
    }

    @Test func jsonHasTheMessageAndItsProperties() throws {
        let facts = MessageTemplateTests.facts { properties in
            properties.contentType = "a/b"
            properties.userProperties = [
                PushProperties.UserProperty(name: "k", value: "v"), PushProperties.UserProperty(name: "k", value: "w"),
                PushProperties.UserProperty(name: "one", value: ""),
            ]
        }
        let payload = Array(#"{"n":1}"#.utf8)
        let text = try #require(try MessageTemplateTests.render("%j", facts, payload: payload))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
        let time = try #require(object["tst"] as? String)
        #expect(time.wholeMatch(of: /2023-11-1\dT\d\d:\d\d:\d\d\.012345[+-]\d{4}/) != nil, "\(time)")
        let properties: [String: Any] = [
            "content-type": "a/b", "user-properties": ["k": ["v", "w"], "one": ""] as [String: Any],
        ]
        let expected: NSDictionary = [
            "tst": time, "topic": "push/é", "qos": 1, "retain": 1, "payloadlen": 7, "properties": properties,
            "payload": #"{"n":1}"#,
        ]
        #expect(object == expected)
        let inner = try #require(try MessageTemplateTests.render("%J", facts, payload: payload))
        #expect(inner.hasSuffix(#","payload":{"n":1}}"#), "\(inner)")
        #expect(try MessageTemplateTests.render("%J", facts, payload: Array("{".utf8)) == nil)
        #expect(
            try MessageTemplateTests.render("%j", facts, payload: [0xFF])?.hasSuffix(#""encoding":"base64"}"#) == true
        )
    }

    @Test(arguments: [
        ("%Z", "'%Z' is not a part of a message"), ("%", "the text ends within a sequence"),
        ("a@", "the text ends within a sequence"), ("a\\", "the text ends within a sequence"),
        ("%5", "the text ends within a sequence"), ("%-.", "the text ends within a sequence"),
        ("\\q", "'\\q' is not an escape"), ("@1", "'@1' is not a part of a time"), ("% d", "a letter must follow '%'"),
        ("%é", "a letter must follow '%'"), ("%10001t", "a width is at most 10000"),
        ("%99999999999999999999t", "a width is at most 10000"), ("%.10001t", "a width is at most 10000"),
    ])
    func aSequenceThatCannotBeUsedIsNamed(_ template: String, _ problem: String) {
        let error = #expect(throws: MessageTemplateError.self) { try MessageTemplate(template) }
        #expect(error?.description.hasPrefix(problem) == true, "\(error?.description ?? "")")
    }

    /// Every text of up to three characters that can mean something.
    @Test func noTemplateTraps() {
        let letters = Array("%@\\-.09CDEIjJlmpPRSUtx\u{0}é")
        let body = RawBody(recognizing: Bytes([0xFF, 0x7B]))
        let facts = MessageTemplateTests.facts()
        let message = TemplateMessage(body, facts, receivedAt: MessageTemplateTests.time)
        var shown = 0
        for first in letters {
            for second in letters {
                for third in letters {
                    guard let template = try? MessageTemplate(String([first, second, third])) else { continue }
                    let bytes = template.bytes(for: message)
                    if bytes != nil { shown += 1 }
                }
            }
        }
        #expect(shown > letters.count)
    }
}
