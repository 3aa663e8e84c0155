import MQTTPush
import Signalbox
import SignalboxCore

/// An entry of `plugins`.
struct PluginSection: Sendable, Hashable {
    /// The action that the plugin handles.
    let action: ActionName
    /// The built-in plugin and its settings.
    let use: PluginUse
    /// The rules that decide who may call the plugin. At least one rule must allow.
    let from: [AccessSection]
    /// The timeout of a call: the plugin's own, or else the configuration's.
    var timeout: Duration
    /// The ordering of the plugin's actions.
    var order = OrderSection.source
    /// The maximum number of concurrent calls.
    var maxConcurrent = 1
    /// The retry policy of failed calls, if any.
    var retry: RetryPolicy?
    /// The circuit breaker, if any.
    var circuitBreaker: CircuitBreakerPolicy?
}

/// A built-in plugin and its settings.
enum PluginUse: Sendable, Hashable {
    /// Writes a log line to stderr.
    case log
    /// Writes a line to stdout, or to stderr in `bridge` and `send`, which print outcomes on stdout.
    case print
    /// Appends a line to the file at the path and returns when the line is durable.
    case file(path: String)
    /// Throws an error that is retryable or not, to test the handling of failures.
    case fail(retryable: Bool)
    /// Never returns and ignores cancellation, to test the handling of calls that hang.
    case suspend
    /// Replies with a fixed value.
    case reply(ReplyValue)

    /// Sends the body back: text and bytes as a message, JSON as the reply.
    case echo
    /// Sends the action to every connection with the tag; `nil` for the tag in the body.
    case broadcast(tag: String?)
    /// Adds the tag to the connection; `nil` for the tag in the body.
    case join(tag: String?)
    /// Removes the tag from the connection; `nil` for the tag in the body.
    case leave(tag: String?)
    /// Publishes the action's body through a broker source and returns when the broker has accepted it.
    case publish(PublishSection)

    /// What happens to an action while the plugin is unavailable: `file` and `publish` abandon it, for redelivery.
    var whenUnavailable: RetryExhaustion {
        switch self {
        case .file, .publish: .abandon
        default: .deadLetter
        }
    }

    /// The values of `use`, in the order in which messages list them.
    static let keywords = [
        "log", "print", "file", "fail", "suspend", "reply", "echo", "broadcast", "join", "leave", "publish",
    ]
}

/// The settings of a `publish` plugin.
struct PublishSection: Sendable, Hashable {
    /// The source whose publishing connection is used.
    let source: SourceName
    /// The destination topic.
    let topic: TopicTemplate
    /// The QoS of each message.
    var qos = MQTTQoS.atLeastOnce
    /// Whether the broker retains the last message of a topic for later subscribers.
    var retain = false
}

/// A YAML value that is encoded as a JSON reply.
enum ReplyValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A whole number beyond the range of ``integer(_:)``.
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case array([ReplyValue])
    case object([String: ReplyValue])
}

extension ReplyValue: Codable {
    private enum NoKeys: CodingKey {}

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    /// Decodes any JSON value. A number that is not a 64-bit integer becomes a `Double`.
    init(from decoder: any Decoder) throws {
        // An error in an element or member is thrown, so that it is reported at its own position.
        if (try? decoder.container(keyedBy: NoKeys.self)) != nil {
            self = .object(try [String: ReplyValue](from: decoder))
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try [ReplyValue](from: decoder))
        } else {
            self = try ReplyValue(scalarFrom: try decoder.singleValueContainer())
        }
    }

    private init(scalarFrom container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .boolean(truth)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let large = try? container.decode(UInt64.self) {
            self = .unsigned(large)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

/// How the actions of a plugin are grouped for ordering.
enum OrderSection: Sendable, Hashable {
    /// One ordering group per source.
    case source
    /// No ordering.
    case none
    /// One ordering group per value of the body's member at this path.
    case key([String])
}

extension OrderSection {
    /// The lane order for a plugin that accepts any body.
    var lane: LaneOrder<RawBody> {
        switch self {
        case .source: .source
        case .none: .none
        case .key(let path): .key { OrderKey(of: $0, at: path) }
        }
    }
}

/// The ordering group of an action: the value of a member of its body.
enum OrderKey: Sendable, Hashable {
    /// The body has no such member. All these actions form one group.
    case absent
    /// A JSON string, decoded.
    case text(String)
    /// Any other JSON value, without insignificant white space.
    case value(Bytes)

    /// - Parameters:
    ///   - body: Any body; only JSON has members.
    ///   - path: The member names, from the outermost to the innermost.
    init(of body: RawBody, at path: [String]) {
        // The intake has already checked the body against the source's own limits.
        let limits = MessageLimits(bytes: max(1, body.bytes.count), depth: 512)
        let whole = body.kind == .json ? try? Body(json: body.bytes, limits: limits) : nil
        guard let member = whole?.member(at: path) else {
            self = .absent
            return
        }
        self = (try? member.decode(String.self)).map(OrderKey.text) ?? .value(member.json)
    }
}
