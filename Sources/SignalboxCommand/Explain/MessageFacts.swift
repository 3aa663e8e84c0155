import ArgumentParser
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// The message properties that an adapter would normally supply along with the bytes. Here, the user supplies them.
struct MessageFacts: Sendable {
    /// The topic of a broker's message.
    var topic: TopicName?
    /// The QoS of a broker's message, or `nil` for 1.
    var qos: Int?
    /// Whether a broker's message was retained.
    var retained = false
    /// The origin of a page's or a chat's message. It has been checked.
    var origin: String?
    /// The frame of a page's message.
    var frame: FrameRole?
    /// The handler that a page's message is posted to, or `nil` if the message names its action.
    var handler: ActionName?
    /// The principal of a chat's client.
    var principal: String?
    /// Whether a chat's or feed's message is binary.
    var binary = false
    /// The path of an HTTP request, with its query.
    var path: String?
    /// The header `Content-Type` of an HTTP request, or `nil` for JSON.
    var contentType: String?
    /// Whether the user wrote the properties as keys of a test, and not as options.
    var areKeys = false

    var webOrigin: WebOrigin? { origin.flatMap { try? WebOrigin($0) } }

    /// The names of all properties.
    static let names = [
        "topic", "qos", "retained", "frame", "handler", "origin", "principal", "binary", "path", "content_type",
    ]

    /// The properties that the user gave. Each one lists the kinds of source whose messages have that property.
    var given: [(name: String, isGiven: Bool, kinds: [String])] {
        let properties = [
            ("topic", topic != nil, ["an MQTT source"]), ("qos", qos != nil, ["an MQTT source"]),
            ("retained", retained, ["an MQTT source"]), ("frame", frame != nil, ["a page"]),
            ("handler", handler != nil, ["a page"]),
            ("origin", origin != nil, ["a page", "a chat", MessageFacts.requests]),
            ("principal", principal != nil, ["a chat", MessageFacts.requests]),
            ("binary", binary, ["a feed", "a chat"]),
            ("path", path != nil, [MessageFacts.requests]),
            ("content_type", contentType != nil, [MessageFacts.requests]),
        ]
        return properties.filter(\.1).map { (shown($0.0), $0.1, $0.2) }
    }

    private static let requests = "a source of HTTP requests"

    /// Returns the name of a property or of another option, as the user writes it.
    func shown(_ name: String) -> String { areKeys ? "'\(name)'" : "--\(MessageFacts.option(name))" }

    /// Returns a property with a value, as the user writes it.
    func example(_ name: String, _ value: String) -> String {
        areKeys ? "\(name): \(value)" : "--\(MessageFacts.option(name)) \(value)"
    }

    private static func option(_ name: String) -> String { name.split(separator: "_").joined(separator: "-") }
}

/// The options for the properties of a message.
struct MessageFactArguments: ParsableArguments {
    @Option(
        name: [.customShort("t"), .customLong("topic")],
        help: "For a broker's message: its topic.",
        transform: { try TopicName($0) }
    )
    var topic: TopicName?

    @Option(
        name: [.customShort("q"), .customLong("qos")],
        help: "For a broker's message: its QoS, 0 or 1 (default 1).",
        completion: .list(["0", "1"])
    )
    var qos: Int?

    @Flag(help: "For a broker's message: it was retained.")
    var retained = false

    // The argument parser would repeat an invalid value in its error message, and the value may contain a password.
    @Option(help: "For a page's or chat's message or a request: the origin, such as https://app.example; default none.")
    var origin: String?

    @Option(help: "For a page's message: the frame.")
    var frame: FrameRole?

    @Option(
        help: "For a page's message: the handler it is posted to; without it, the message names its action.",
        transform: { try ActionName($0) }
    )
    var handler: ActionName?

    @Option(help: "For a chat's message or a request: the client's principal; required if the source has principals.")
    var principal: String?

    @Flag(help: "For a chat's or feed's message: it is binary.")
    var binary = false

    @Option(help: "For an HTTP request: its path and query, such as /order?from=web.")
    var path: String?

    @Option(help: "For an HTTP request: the header Content-Type (default application/json).")
    var contentType: String?

    var facts: MessageFacts {
        MessageFacts(
            topic: topic,
            qos: qos,
            retained: retained,
            origin: origin,
            frame: frame,
            handler: handler,
            principal: principal,
            binary: binary,
            path: path,
            contentType: contentType
        )
    }

    func validate() throws {
        guard (0...1).contains(qos ?? 1) else {
            throw ValidationError("--qos must be 0 or 1; sources never subscribe with QoS 2")
        }
        do throws(URLTextError) {
            _ = try origin.map { text throws(URLTextError) in try WebOrigin(text) }
        } catch {
            throw ValidationError("--origin: \(error)")
        }
    }
}
