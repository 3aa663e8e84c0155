import SignalboxCore

/// An MQTT 5 reason code sent by a broker (MQTT 5.0, 2.4). Two codes are equal if their numbers are.
struct ReasonCode: Hashable {
    /// The number of characters that are kept of a reason string.
    private static let reasonLimit = 256

    let rawValue: Int32
    /// The reason string that the broker sent with the code, for people (MQTT 5.0, 3.2.2.3.9). It is safe to show in a line.
    let reason: String?

    static let success = ReasonCode(rawValue: 0)
    static let unspecified = ReasonCode(rawValue: 128)
    static let badCredentials = ReasonCode(rawValue: 134)
    static let notAuthorized = ReasonCode(rawValue: 135)
    static let packetTooLarge = ReasonCode(rawValue: 149)

    /// Creates the MQTT 5 reason code that corresponds to a return code in an MQTT 3.1.1 CONNACK (MQTT 3.1.1, 3.2.2.3).
    init(returnCode: Int32) {
        let codes: [Int32] = [0, 132, 133, 136, 134, 135]
        reason = nil
        rawValue = codes.indices.contains(Int(returnCode)) ? codes[Int(returnCode)] : ReasonCode.unspecified.rawValue
    }

    /// - Parameter reason: The reason string. It is escaped, and cut after 256 characters.
    init(rawValue: Int32, reason: String? = nil) {
        self.rawValue = rawValue
        self.reason = reason.map(ReasonCode.shown)
    }

    /// - Parameter other: A code whose reason string applies to this one, too.
    init(rawValue: Int32, withReasonOf other: ReasonCode) {
        self.rawValue = rawValue
        reason = other.reason
    }

    private static func shown(_ reason: String) -> String {
        let kept = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(reasonLimit)))
        return LineText.escaped(kept) + (reason.unicodeScalars.dropFirst(reasonLimit).isEmpty ? "" : "…")
    }

    static func == (one: ReasonCode, other: ReasonCode) -> Bool { one.rawValue == other.rawValue }

    func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }

    /// Whether the code indicates a failure, which is true for codes of 128 or above.
    var isFailure: Bool { rawValue >= 128 }

    /// Whether it is pointless to retry soon, because a configuration must change first. This is true if there is
    /// ``remedy``, or if the broker refuses the authentication method (140) or a topic name (144).
    var needsReconfiguration: Bool { remedy != nil || rawValue == 140 || rawValue == 144 }

    /// Whether the broker may name another server with this code (MQTT 5.0, 4.11).
    var namesServer: Bool { rawValue == 156 || rawValue == 157 }

    /// What the operator can do, if the code suggests how to fix the problem.
    var remedy: BrokerRemedy? {
        switch rawValue {
        case 132: .version
        case 133: .clientID
        case 134, 135: .credentials
        case 138: .banned
        case 142: .clientIDInUse
        case 149, 154, 155: .limits
        case 157: .address
        default: nil
        }
    }
}

extension ReasonCode {
    /// A description such as `bad user name or password (134)`, followed by the reason string if the broker sent one.
    var text: String {
        let failure = Int(rawValue) - 128
        let name = ReasonCode.failures.indices.contains(failure) ? ReasonCode.failures[failure] : nil
        let text = "\(name ?? ReasonCode.successes[rawValue] ?? "unknown reason") (\(rawValue))"
        return text + (reason.map { ": \"\($0)\"" } ?? "")
    }

    private static let successes: [Int32: String] = [
        0: "success",
        1: "granted qos 1",
        2: "granted qos 2",
        4: "disconnect with will message",
        16: "no matching subscribers",
        17: "no subscription existed",
        24: "continue authentication",
        25: "re-authenticate",
    ]

    /// The names of the codes from 128 on, which MQTT 5.0, 2.4 defines without a gap.
    private static let failures = [
        "unspecified error",
        "malformed packet",
        "protocol error",
        "implementation specific error",
        "unsupported protocol version",
        "client identifier not valid",
        "bad user name or password",
        "not authorized",
        "server unavailable",
        "server busy",
        "banned",
        "server shutting down",
        "bad authentication method",
        "keep alive timeout",
        "session taken over",
        "topic filter invalid",
        "topic name invalid",
        "packet identifier in use",
        "packet identifier not found",
        "receive maximum exceeded",
        "topic alias invalid",
        "packet too large",
        "message rate too high",
        "quota exceeded",
        "administrative action",
        "payload format invalid",
        "retain not supported",
        "qos not supported",
        "use another server",
        "server moved",
        "shared subscriptions not supported",
        "connection rate exceeded",
        "maximum connect time",
        "subscription identifiers not supported",
        "wildcard subscriptions not supported",
    ]
}
