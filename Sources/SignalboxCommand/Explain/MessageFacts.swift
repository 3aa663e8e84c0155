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
    /// Whether the user wrote the properties as keys of a test, and not as options.
    var areKeys = false

    var webOrigin: WebOrigin? { origin.flatMap { try? WebOrigin($0) } }

    /// The names of all properties.
    static let names = ["topic", "qos", "retained", "frame", "handler", "origin", "principal", "binary"]

    /// The properties that the user gave. Each one lists the kinds of source whose messages have that property.
    var given: [(name: String, isGiven: Bool, kinds: [String])] {
        let properties = [
            ("topic", topic != nil, ["an MQTT source"]), ("qos", qos != nil, ["an MQTT source"]),
            ("retained", retained, ["an MQTT source"]), ("frame", frame != nil, ["a page"]),
            ("handler", handler != nil, ["a page"]), ("origin", origin != nil, ["a page", "a chat"]),
            ("principal", principal != nil, ["a chat"]), ("binary", binary, ["a feed", "a chat"]),
        ]
        return properties.filter(\.1).map { (shown($0.0), $0.1, $0.2) }
    }

    /// Returns the name of a property or of another option, as the user writes it.
    func shown(_ name: String) -> String { areKeys ? "'\(name)'" : "--\(name)" }

    /// Returns a property with a value, as the user writes it.
    func example(_ name: String, _ value: String) -> String { areKeys ? "\(name): \(value)" : "--\(name) \(value)" }
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
    @Option(help: "For a page's or chat's message: the origin, such as https://app.example; default none.")
    var origin: String?

    @Option(help: "For a page's message: the frame.")
    var frame: FrameRole?

    @Option(
        help: "For a page's message: the handler it is posted to; without it, the message names its action.",
        transform: { try ActionName($0) }
    )
    var handler: ActionName?

    @Option(help: "For a chat's message: the client's principal; required if the chat has principals.")
    var principal: String?

    @Flag(help: "For a chat's or feed's message: it is binary.")
    var binary = false

    var facts: MessageFacts {
        MessageFacts(
            topic: topic,
            qos: qos,
            retained: retained,
            origin: origin,
            frame: frame,
            handler: handler,
            principal: principal,
            binary: binary
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
