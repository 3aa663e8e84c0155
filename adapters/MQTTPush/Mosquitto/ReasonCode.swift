import CMosquitto

/// A reason code of MQTT 5 (MQTT 5.0, 2.4), as brokers send it.
struct ReasonCode: Hashable {
    let rawValue: Int32

    static let success = ReasonCode(rawValue: 0)

    /// 128 and above are failures.
    var isFailure: Bool { rawValue >= 128 }

    /// Trying again soon is pointless: somebody must change a configuration first.
    var needsConfiguration: Bool {
        switch rawValue {
        case 132, 133, 134, 135, 138, 140, 142, 144, 149, 154, 155, 157: true
        default: false
        }
    }

    /// Such as `bad user name or password (134)`. The text is ours: what the broker adds in words is not shown.
    var text: String {
        "\(String(cString: mosquitto_reason_string(rawValue)).lowercased()) (\(rawValue))"
    }

    /// What whoever runs the program can do about it.
    var advice: String? {
        switch rawValue {
        case 132: "The broker must speak MQTT 5"
        case 133: "Check the client id in the configuration"
        case 134, 135: "Check username and password in the configuration, and the broker's access rules"
        case 138: "The broker has banned this client: ask its operator"
        case 142: "Another client uses the same client id: give each replica its own"
        case 149, 154, 155: "The broker's limits do not fit the configuration"
        case 157: "The broker has moved: change its address in the configuration"
        default: nil
        }
    }
}
