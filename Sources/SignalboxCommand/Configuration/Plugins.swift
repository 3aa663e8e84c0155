import MQTTPush
import Signalbox
import SignalboxCore

/// One entry of `plugins`.
struct PluginSection: Sendable, Hashable {
    /// The action it is registered for.
    let action: ActionName
    /// What it does.
    let use: PluginUse
    /// Who may call it; at least one, and one that allows is enough.
    let from: [AccessSection]
    /// How long its call may take, or `nil` for the configuration's timeout.
    var timeout: Duration?
    /// Which actions wait for each other.
    var order = OrderSection.source
    /// The most calls at once.
    var maxConcurrent = 1
    /// Whether a failed call is made again.
    var retry: RetryPolicy?
    /// Whether it is left alone after failures.
    var circuitBreaker: CircuitBreakerPolicy?
}

/// What a plugin of a configuration does.
enum PluginUse: Sendable, Hashable {
    /// Writes a log line to stderr.
    case log
    /// Writes a line to stdout; in `bridge` and `send`, whose stdout is outcomes, to stderr.
    case print
    /// Appends a line to the file at this path and returns when it is durable.
    case file(path: String)
    /// Throws, in a way that calls for another attempt or not: for trying what happens to failures.
    case fail(retryable: Bool)
    /// Never returns and ignores cancellation: for trying what happens to calls that hang.
    case suspend
    /// Does nothing and answers this.
    case reply(ReplyValue)

    /// Sends the same back: text and bytes as a message, JSON as the reply.
    case echo
    /// Sends the action to every connection that has the tag; `nil`: the tag that the body names.
    case broadcast(tag: String?)
    /// Gives the connection the tag; `nil`: the one that the body names.
    case join(tag: String?)
    /// Takes the tag away; `nil`: the one that the body names.
    case leave(tag: String?)
    /// Publishes the action's body through a broker's source, and returns when the broker has it.
    case publish(PublishSection)

    /// What happens to an action while the plugin does not answer: one that must not be lost is given back.
    var whenUnavailable: RetryExhaustion {
        switch self {
        case .file, .publish: .abandon
        default: .deadLetter
        }
    }

    /// Those that can have a tag.
    static let withTags = ["broadcast", "join", "leave"]

    /// The words after `use:`, in the order in which messages list them.
    static let words = [
        "log", "print", "file", "fail", "suspend", "reply", "echo", "broadcast", "join", "leave", "publish",
    ]
}

/// What a plugin `publish` is told.
struct PublishSection: Sendable, Hashable {
    /// The source by whose second connection it publishes.
    let source: SourceName
    /// Where to.
    let topic: TopicTemplate
    /// How much each message is worth.
    var quality = MQTTQuality.atLeastOnce
    /// Whether the broker keeps the last message of a topic for those who come later.
    var retain = false
}

/// A YAML value that is answered as JSON.
enum ReplyValue: Sendable, Hashable {
    case null
    case truth(Bool)
    case integer(Int64)
    /// A whole number beyond those of ``integer(_:)``.
    case large(UInt64)
    case number(Double)
    case text(String)
    case list([ReplyValue])
    case members([String: ReplyValue])
}

extension ReplyValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .truth(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .large(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .members(let members): try container.encode(members)
        }
    }
}

extension ReplyValue: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Any JSON. Numbers that are not whole are those of IEEE 754 with 64 bits.
    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            var found: [String: ReplyValue] = [:]
            for name in members.allKeys { found[name.stringValue] = try members.decode(ReplyValue.self, forKey: name) }
            self = .members(found)
        } else if var list = try? decoder.unkeyedContainer() {
            var found: [ReplyValue] = []
            while !list.isAtEnd { found.append(try list.decode(ReplyValue.self)) }
            self = .list(found)
        } else {
            self = try ReplyValue(scalarFrom: try decoder.singleValueContainer())
        }
    }

    private init(scalarFrom container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .truth(truth)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let large = try? container.decode(UInt64.self) {
            self = .large(large)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

/// Which actions of a plugin wait for each other.
enum OrderSection: Sendable, Hashable {
    /// Those of one source.
    case source
    /// None.
    case none
    /// Those whose bodies have the same value at this path of members.
    case key([String])

    /// The words for what has no path.
    static let words = ["source", "none"]
}

extension OrderSection {
    /// The order as a plugin with any body has it.
    var lane: LaneOrder<RawBody> {
        switch self {
        case .source: .source
        case .none: .none
        case .key(let path): .key { OrderKey(of: $0, at: path) }
        }
    }
}

/// What tells the actions of one plugin apart that need not wait for each other: a member of their bodies.
enum OrderKey: Sendable, Hashable {
    /// The body has no such member. All those have this one key.
    case absent
    /// JSON text, decoded.
    case text(String)
    /// Any other JSON value as it is written, without needless white space.
    case value([UInt8])

    /// - Parameters:
    ///   - body: any; only JSON has members.
    ///   - path: the names of members, from the outside in.
    init(of body: RawBody, at path: [String]) {
        self = .absent
        // What was read once is within the limits, whatever they are.
        let limits = MessageLimits(bytes: max(1, body.bytes.count), depth: 512)
        guard body.kind == .json, let whole = try? Body(json: body.bytes, limits: limits),
            let place = try? whole.decode(Place.self)
        else { return }
        self = place.key(at: path[...])
    }

    /// A place in a body, from where members can be looked for.
    private struct Place: Decodable {
        private let decoder: any Decoder

        init(from decoder: any Decoder) throws { self.decoder = decoder }

        func key(at path: ArraySlice<String>) -> OrderKey {
            guard let name = path.first else { return key }
            guard let members = try? decoder.container(keyedBy: Name.self),
                let member = try? members.decode(Place.self, forKey: Name(stringValue: name))
            else { return .absent }
            return member.key(at: path.dropFirst())
        }

        private var key: OrderKey {
            if let text = try? String(from: decoder) { return .text(text) }
            guard let raw = try? RawBody(from: decoder) else { return .absent }
            return .value(JSONText.compact(raw.bytes))
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
