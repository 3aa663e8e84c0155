import MQTTPush
import Signalbox
import SignalboxCore

/// An entry in `plugins`.
struct PluginSection: Sendable, Hashable {
    /// The action that the plugin handles.
    let action: ActionName
    /// The built-in plugin and its settings.
    var use: PluginUse
    /// The rules that decide who may call the plugin. At least one of them must allow the call.
    let from: [AccessSection]
    /// How long a call may take. If the plugin does not set a timeout, the configuration's timeout applies.
    var timeout: Duration
    /// How the plugin's actions are ordered.
    var order = OrderSection.source
    /// The maximum number of concurrent calls.
    var maxConcurrent = 1
    /// Whether the source's thread makes the calls.
    var runsInline = false
    /// The retry policy for failed calls, or `nil` for no retries.
    var retry: RetryPolicy?
    /// The circuit breaker, or `nil` for none.
    var circuitBreaker: CircuitBreakerPolicy?
    /// The backplanes of the chats that the plugin may broadcast to.
    var backplanes: [SourceName: BackplaneSection] = [:]

    /// The sources that the plugin sends to.
    var targets: Set<SourceName> { Set(use.parts.compactMap(\.target) + backplanes.values.map(\.source)) }

    /// Whether the plugin itself ends a call after the timeout. A broadcast that a broker has not accepted by then must not be
    /// published later.
    var endsCalls: Bool { use.endsCalls || !backplanes.isEmpty }

    /// What happens to an action while the plugin is unavailable. A broadcast through a broker is given back.
    var whenUnavailable: RetryExhaustion { backplanes.isEmpty ? use.whenUnavailable : .abandon }

    /// A text that says where the plugin or one of its steps sends actions, or `nil` if it sends to no other source.
    func targetDescription(of use: PluginUse) -> String? {
        guard case .broadcast = use, let brokers else { return use.targetDescription }
        let way = "through \(brokers), to the clients of every program"
        return use.targetDescription.map { "\($0), \(way)" } ?? "sends \(way)"
    }

    /// The quoted names of the sources that broadcasts pass through, or `nil` if no broadcast does.
    private var brokers: String? {
        let names = Set(backplanes.values.map { "'\($0.source)'" }).sorted()
        return names.isEmpty ? nil : names.joined(separator: " and ")
    }
}

/// A built-in plugin and its settings.
enum PluginUse: Sendable, Hashable {
    /// Writes a log line to stderr.
    case log
    /// Writes a line to stdout. In `bridge` and `send`, stdout is used for outcomes, so the plugin writes to stderr
    /// instead.
    case print
    /// Appends a line to the file at the path, and returns once the line is durable.
    case file(path: String)
    /// Runs a program for each action.
    case exec(ExecSection)
    /// Hands each action to a process that stays.
    case process(ProcessSection)
    /// Sends each action to an HTTP server.
    case http(HTTPSection)
    /// Throws an error, which is either retryable or not. Use this to test how failures are handled.
    case fail(retryable: Bool)
    /// Never returns, and ignores cancellation. Use this to test how calls that hang are handled.
    case suspend
    /// Replies with a fixed value.
    case reply(ReplyValue)

    /// Sends the body back to the sender. Text and bytes are sent as a message, and JSON is sent as the reply.
    case echo
    /// Sends the action to every connection with the tag. If the tag is `nil`, the body names it. The connections are
    /// those of the source that the action came from, or of the chat `to`.
    case broadcast(to: SourceName? = nil, tag: String?)
    /// Sends the broadcasts that arrive from a broker to the connections of their chat. The key is the source that receives
    /// them. No configuration names this plugin; chats with a backplane bring it along.
    case deliver(chats: [SourceName: SourceName])
    /// Adds the tag to the connection. If the tag is `nil`, the body names it.
    case join(tag: String?)
    /// Removes the tag from the connection. If the tag is `nil`, the body names it.
    case leave(tag: String?)
    /// Sends the action to the server of a feed, or calls a page with it. With `reply`, the server is asked for a reply.
    case send(to: SourceName, reply: Bool = false)
    /// Publishes the action's body through a broker source, and returns once the broker has accepted the message.
    case publish(PublishSection)
    /// Hands the action to several steps in order, and stops at the first that fails or drops it.
    case chain([PluginUse])
    /// Replies with a body that is made of values of the action. In a chain, the next steps receive that body.
    case map(BodyTemplate)
    /// A step that hands on the actions for which a condition is true.
    case filter(FilterSection)
    /// A step that hands on a limited number of actions in a period.
    case throttle(ThrottleSection)
    /// A step that collects bodies and hands them on as one list.
    case aggregate(AggregateSection)
    /// A step that hands on a share of the actions.
    case sample(SampleSection)

    /// What happens to an action while the plugin is unavailable. If the plugin writes to a file or sends to another
    /// source or to a server, the action is abandoned so that its message is delivered again.
    var whenUnavailable: RetryExhaustion {
        switch self {
        case .file, .http: .abandon
        case .chain(let steps): steps.contains { $0.whenUnavailable == .abandon } ? .abandon : .deadLetter
        default: target == nil ? .deadLetter : .abandon
        }
    }

    /// Whether a call takes only microseconds and never waits, so that a source's thread may make it.
    var mayRunInline: Bool { PluginUse.inlineKeywords.contains(keyword) && target == nil }

    /// The source that the plugin sends to, or `nil` if the plugin sends only to the source of the action, or nothing. A chain
    /// has none of its own; its ``parts`` have.
    var target: SourceName? {
        switch self {
        case .broadcast(let target, _): target
        case .send(let target, _): target
        case .publish(let section): section.source
        default: nil
        }
    }

    /// A text that says where the plugin sends actions, or `nil` if ``target`` is.
    var targetDescription: String? {
        switch self {
        case .broadcast(let target?, let tag?): "sends to the tag '\(tag)' of '\(target)'"
        case .broadcast(let target?, nil): "sends to the tag in the body, of '\(target)'"
        case .send(let target, true): "asks '\(target)'"
        case .send(let target, false): "sends to '\(target)'"
        case .publish(let section): "publishes to '\(section.topic.text)' of '\(section.source)'"
        default: nil
        }
    }

    /// Whether the plugin itself ends a call after the timeout, because what it waits for must end too.
    var endsCalls: Bool {
        switch self {
        case .exec, .process, .http, .throttle, .aggregate: true
        case .chain(let steps): steps.contains { $0.endsCalls }
        default: false
        }
    }

    /// How many processes share the calls.
    var processes: Int { if case .process(let section) = self { section.processes } else { 1 } }

    /// The value of `use` in the file.
    var keyword: String {
        switch self {
        case .log: "log"
        case .print: "print"
        case .file: "file"
        case .exec: "exec"
        case .process: "process"
        case .http: "http"
        case .fail: "fail"
        case .suspend: "suspend"
        case .reply: "reply"
        case .echo: "echo"
        case .broadcast: "broadcast"
        case .deliver: "deliver"
        case .join: "join"
        case .leave: "leave"
        case .send: "send"
        case .publish(let section): section.keyword
        case .chain: "chain"
        case .map: "map"
        case .filter: "filter"
        case .throttle: "throttle"
        case .aggregate: "aggregate"
        case .sample: "sample"
        }
    }

    /// The values of `use` for which ``mayRunInline`` is true, unless the plugin sends to another source.
    static let inlineKeywords = ["log", "fail", "reply", "echo", "broadcast", "join", "leave"]

    /// The possible values of `use`, in the order in which messages list them.
    static let keywords = [
        "log", "print", "file", "exec", "process", "http", "fail", "suspend", "reply", "echo", "broadcast", "send",
        "join", "leave", "publish", "map", "chain",
    ]
}

/// The settings of a plugin that publishes.
struct PublishSection: Sendable, Hashable {
    /// The source whose connection the plugin uses to publish.
    let source: SourceName
    /// The topic that each message is published to.
    let topic: TopicTemplate
    /// The QoS of each message.
    var qos = MQTTQoS.atLeastOnce
    /// Whether the broker retains the last message on a topic for later subscribers.
    var retain = false
    /// A message with the properties of each message.
    var properties = MQTTMessage([], to: "")
    /// The value of `use`: `publish`, or `send` with the name of a broker's source.
    var keyword = "publish"
}

/// A YAML value that a `reply` plugin encodes as JSON.
enum ReplyValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A whole number that is too large for ``integer(_:)``.
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case array([ReplyValue])
    case object([String: ReplyValue])
}

extension ReplyValue: Encodable {
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
}

/// How a plugin's actions are grouped for ordering.
enum OrderSection: Sendable, Hashable {
    /// All actions from one source form an ordering group.
    case source
    /// The actions are not ordered.
    case none
    /// Actions whose bodies have the same value at this path form an ordering group.
    case key([String])
}

extension OrderSection {
    /// Whether actions with the same key wait for each other.
    var isKeyed: Bool { if case .key = self { true } else { false } }

    /// The lane order for a plugin that accepts any body.
    var lane: LaneOrder<RawBody> {
        switch self {
        case .source: .source
        case .none: .none
        case .key(let path): .key { OrderKey(of: $0, at: path) }
        }
    }
}

/// Identifies an action's ordering group by the value of a member of its body.
enum OrderKey: Sendable, Hashable {
    /// The body has no such member. All actions without it form one group.
    case absent
    /// The member is a JSON string. The text is the decoded string.
    case text(String)
    /// The member is any other JSON value. The bytes are that value without insignificant white space.
    case value(Bytes)

    /// - Parameters:
    ///   - body: The action's body. Only a JSON body has members.
    ///   - path: The names of the members, from the outermost to the innermost.
    init(of body: RawBody, at path: [String]) {
        // The intake has already checked the body against the limits of its source.
        let limits = MessageLimits(bytes: max(1, body.bytes.count), depth: 512)
        let whole = body.kind == .json ? try? Body(json: body.bytes, limits: limits) : nil
        guard let member = whole?.member(at: path) else {
            self = .absent
            return
        }
        self = (try? member.decode(String.self)).map(OrderKey.text) ?? .value(member.json)
    }
}
