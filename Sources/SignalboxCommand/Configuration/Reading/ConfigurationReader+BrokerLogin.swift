import MQTTPush
import SignalboxCore
import WebSocketChat

/// How a broker's source connects, beside its address.
extension ConfigurationReader {
    /// - Parameter broker: `nil` when its address is wrong, which was told of.
    func brokerLogin(
        _ mapping: YAMLMapping,
        of broker: MQTTBroker?
    ) -> (version: MQTTVersion, security: MQTTSecurity, will: MQTTWill?) {
        let words = MQTTVersion.allCases.map(\.rawValue)
        let version = mapping.optional("version")?.word(of: words, meaning: "a version of MQTT")
        return (
            version.flatMap(MQTTVersion.init(rawValue:)) ?? .v5, security(mapping, of: broker),
            mapping.optional("will").flatMap(will)
        )
    }

    /// The quality and what becomes of stored messages, of a topic.
    func delivery(_ mapping: YAMLMapping) -> (quality: MQTTQuality, retained: MQTTRetained) {
        let words = MQTTRetained.allCases.map(\.rawValue)
        let meaning = "what becomes of messages that the broker had stored"
        let retained = mapping.optional("retained")?.word(of: words, meaning: meaning)
        return (quality(mapping) ?? .atLeastOnce, retained.flatMap(MQTTRetained.init(rawValue:)) ?? .deliver)
    }

    /// What is behind the key `qos`.
    func quality(_ mapping: YAMLMapping) -> MQTTQuality? {
        mapping.optional("qos")?.integer(0...1).flatMap(MQTTQuality.init(rawValue:))
    }

    private func security(_ mapping: YAMLMapping, of broker: MQTTBroker?) -> MQTTSecurity {
        let trust = mapping.optional("trust").flatMap(trust).map(MQTTTrust.init)
        let identity = mapping.optional("identity").flatMap(identity).map(MQTTIdentity.init)
        let key = mapping.optional("shared_key").flatMap(sharedKey)
        let certificates = ["trust", "identity"]
        if let broker, !broker.usesTLS {
            for name in certificates + ["shared_key"] {
                mapping.optional(name)?.complain(
                    "the broker is one of mqtt://; '\(name)' is for mqtts://",
                    .conflictingKeys
                )
            }
            return .none
        }
        guard mapping.optional("shared_key") != nil else {
            return broker.map { _ in .tls(trust ?? .system, identity: identity) } ?? .none
        }
        for name in certificates {
            mapping.optional(name)?.complain("a 'shared_key' takes the place of certificates", .conflictingKeys)
        }
        // After a mistake the adapter shall not find the same once more.
        return key ?? .tls()
    }

    private func sharedKey(_ value: YAMLValue) -> MQTTSecurity? {
        guard let mapping = value.mapping(.sharedKey) else { return nil }
        let identity = mapping.required("identity", "say who this is to the broker").flatMap(text)
        let advice = "say where the key is kept, such as key: { env: BROKER_KEY }"
        let key = mapping.required("key", advice).flatMap { secret($0, "a key") }
        let allowsShort = mapping.optional("allow_short")?.flag() ?? false
        guard let identity, let key else { return nil }
        return .preSharedKey(identity: identity, key: key, allowsShort: allowsShort)
    }

    private func will(_ value: YAMLValue) -> MQTTWill? {
        guard let mapping = value.mapping(.will) else { return nil }
        let topic = mapping.required("topic", "say where the broker publishes it, such as topic: kiosk/gone")?.text()
        let payload = mapping.optional("payload").map { $0.anyText() } ?? ""
        let quality = quality(mapping) ?? .atLeastOnce
        let retain = mapping.optional("retain")?.flag() ?? false
        guard let topic, let payload else { return nil }
        return MQTTWill(topic: topic, payload: Array(payload.utf8), quality: quality, retain: retain)
    }
}

extension MQTTTrust {
    fileprivate init(_ trust: WebSocketTrust) {
        switch trust {
        case .system: self = .system
        case .authority(let file): self = .authority(file: file)
        case .anything: self = .insecure
        }
    }
}

extension MQTTIdentity {
    fileprivate init(_ identity: WebSocketIdentity) {
        self.init(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    }
}
