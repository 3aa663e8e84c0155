import CMosquitto

/// An MQTT 5 reason code sent by a broker (MQTT 5.0, 2.4).
struct ReasonCode: Hashable {
    let rawValue: Int32

    static let success = ReasonCode(rawValue: 0)
    static let unspecified = ReasonCode(rawValue: Int32(MQTT_RC_UNSPECIFIED.rawValue))
    static let badCredentials = ReasonCode(rawValue: Int32(MQTT_RC_BAD_USERNAME_OR_PASSWORD.rawValue))
    static let notAuthorized = ReasonCode(rawValue: Int32(MQTT_RC_NOT_AUTHORIZED.rawValue))

    /// Creates the MQTT 5 reason code that corresponds to a return code in an MQTT 3.1.1 CONNACK (MQTT 3.1.1, 3.2.2.3).
    init(returnCode: Int32) {
        let codes = [
            MQTT_RC_SUCCESS, MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION, MQTT_RC_CLIENTID_NOT_VALID,
            MQTT_RC_SERVER_UNAVAILABLE, MQTT_RC_BAD_USERNAME_OR_PASSWORD, MQTT_RC_NOT_AUTHORIZED,
        ]
        let code = codes.indices.contains(Int(returnCode)) ? codes[Int(returnCode)] : MQTT_RC_UNSPECIFIED
        rawValue = Int32(code.rawValue)
    }

    init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Whether the code indicates a failure, which is true for codes of 128 or above.
    var isFailure: Bool { rawValue >= 128 }

    /// Whether it is pointless to retry soon, because a configuration must change first. This is true if there is
    /// ``remedy``, or if the broker refuses the authentication method (140) or a topic name (144).
    var needsReconfiguration: Bool { remedy != nil || rawValue == 140 || rawValue == 144 }

    /// A description such as `bad user name or password (134)`. It never includes the reason string sent by the broker.
    var text: String {
        "\(String(cString: mosquitto_reason_string(rawValue)).lowercased()) (\(rawValue))"
    }

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

/// A return code of libmosquitto, which is 0 for success.
struct MosquittoCode: Equatable {
    let rawValue: Int32

    static let success = MosquittoCode(rawValue: MOSQ_ERR_SUCCESS.rawValue)
    static let connectionLost = MosquittoCode(rawValue: MOSQ_ERR_CONN_LOST.rawValue)
    static let tlsFailed = MosquittoCode(rawValue: MOSQ_ERR_TLS.rawValue)

    var isSuccess: Bool { self == .success }

    /// The meaning of the code. For a system error, the text depends on `errno`, so read it immediately after the call.
    var text: String {
        let sentence = String(cString: mosquitto_strerror(rawValue))
        let end = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return end.prefix(1).lowercased() + end.dropFirst()
    }
}
