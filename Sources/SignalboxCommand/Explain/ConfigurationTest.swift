import NavigationChain
import SignalboxCore

/// An example of a message or URL and what must come of it. An entry in `tests`.
struct ConfigurationTest: Sendable {
    /// What the user calls the example.
    let name: String
    /// The line of the entry in its file, counted from 1.
    let line: Int
    let subject: TestSubject
    /// What must come of it. There is at least one member.
    let expected: [TestMember: TestValue]
}

/// What a test submits.
enum TestSubject: Sendable {
    /// A message as its source has read it.
    case message(ExplainedMessage)
    /// A link, and the source that must make a message of it. If the source is `nil`, the first one that accepts it does.
    case link(String, source: String?)
    /// A URL that the navigation chain decides about.
    case navigation(String, NavigationKind, FrameRole)
}

/// A key of `expect`.
enum TestMember: String, Sendable, CaseIterable {
    case outcome, reason, action, id, plugin, path, body, reply
    case droppedBy = "dropped_by"
    case policy, decider

    /// Whether the navigation chain determines the value.
    var isOfNavigation: Bool { self == .policy || self == .decider }
}

/// A value of `expect`, or what was found instead.
enum TestValue: Sendable, Hashable {
    /// A word, such as an outcome or a name.
    case text(String)
    /// JSON.
    case json(ReplyValue)
    /// The value is not known, because the plugin was not called.
    case unknown(String)

    /// - Parameter bytes: JSON that a reader has checked.
    init(json bytes: Bytes) {
        // The bytes are as deep as a body or reply can be.
        let body = try? Body(json: bytes, limits: MessageLimits(bytes: max(1, bytes.count), depth: 512))
        let value = try? body?.decode(ReplyValue.self)
        self = value.map(TestValue.json) ?? .unknown("a number that cannot be compared")
    }

    /// The value on one line, as a configuration or JSON has it.
    var shown: String {
        switch self {
        case .text(let text): text
        case .json(let value): String(decoding: TestValue.encoded(value), as: UTF8.self)
        case .unknown(let reason): "unknown (\(reason))"
        }
    }

    /// Returns compact JSON with sorted members.
    static func encoded(_ value: ReplyValue) -> [UInt8] {
        (try? BodyWriter.write(value, depth: 512)).map { EscapedJSON.compact($0) } ?? Array("null".utf8)
    }
}

extension ReplyValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let values = try? container.decode([ReplyValue].self) {
            self = .array(values)
        } else {
            self = .object(try container.decode([String: ReplyValue].self))
        }
    }
}
