/// The target that gets an input.
enum WireTarget: Character, CaseIterable {
    /// The bytes are frames of a WebSocket connection: see ``FrameTarget``.
    case frames = "f"
    /// The bytes are the compressed content of one message.
    case inflater = "i"
    /// The bytes are a text that comes in pieces.
    case utf8 = "8"
    /// The bytes are a list of extensions, of a client and of a server.
    case extensions = "e"
    /// The lines are a path, an origin, a field `Authorization`, subprotocols and parts of a query.
    case upgrade = "u"
    /// The bytes are a message of browser.js.
    case page = "p"
    /// The bytes are a text of relay.js.
    case relay = "r"
    /// The bytes are a configuration.
    case yaml = "y"
    /// The bytes are a text that is shown in a log.
    case redaction = "s"

    init(selector: UInt8) {
        let all = WireTarget.allCases
        self = WireTarget(rawValue: Character(Unicode.Scalar(selector))) ?? all[Int(selector) % all.count]
    }

    func run(_ input: [UInt8]) {
        switch self {
        case .frames: FrameTarget.run(input)
        case .inflater: InflaterTarget.run(input)
        case .utf8: UTF8Target.run(input)
        case .extensions: ExtensionTarget.run(input)
        case .upgrade: UpgradeTarget.run(input)
        case .page: PageTarget.run(input)
        case .relay: RelayTarget.run(input)
        case .yaml: ConfigurationTarget.run(input)
        case .redaction: RedactionTarget.run(input)
        }
    }
}

/// A broken invariant crashes, and libFuzzer keeps and shrinks the input.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) {
    guard condition else { fatalError("broken: \(rule())") }
}
