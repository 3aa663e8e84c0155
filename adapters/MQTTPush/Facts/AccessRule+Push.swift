public import SignalboxCore

extension AccessRule {
    /// Messages of push sources that the broker delivered with exactly this quality of service.
    ///
    /// - Parameters:
    ///   - qos: 0 (at most once) or 1 (at least once).
    ///   - source: the one source they must come through, or `nil` for every push source.
    /// - Precondition: `qos` is 0 or 1.
    public static func push(qos: Int, source: SourceName? = nil) -> AccessRule {
        precondition((0...1).contains(qos), "An access rule was given QoS \(qos); messages have 0 or 1.")
        return push("push of QoS \(qos)", source) { $0.qos == qos }
    }

    /// Messages of push sources that the broker delivered with at least this quality of service.
    ///
    /// - Parameters:
    ///   - minimumQoS: 0 (at most once) or 1 (at least once).
    ///   - source: the one source they must come through, or `nil` for every push source.
    /// - Precondition: `minimumQoS` is 0 or 1.
    public static func push(minimumQoS: Int, source: SourceName? = nil) -> AccessRule {
        precondition((0...1).contains(minimumQoS), "An access rule was given QoS \(minimumQoS); messages have 0 or 1.")
        return push("push of at least QoS \(minimumQoS)", source) { $0.qos >= minimumQoS }
    }

    /// Messages of push sources that the broker had stored, or those that it had not: news.
    ///
    /// - Parameters:
    ///   - retained: `false` for news alone.
    ///   - source: the one source they must come through, or `nil` for every push source.
    public static func push(retained: Bool, source: SourceName? = nil) -> AccessRule {
        push(retained ? "push that is retained" : "push that is not retained", source) { $0.retained == retained }
    }

    /// Messages of push sources whose connection to the broker is encrypted and the broker verified, or is not.
    ///
    /// - Parameters:
    ///   - tls: `true` for such connections alone.
    ///   - source: the one source they must come through, or `nil` for every push source.
    public static func push(tls: Bool, source: SourceName? = nil) -> AccessRule {
        push(tls ? "push over TLS" : "push without TLS", source) { $0.tls == tls }
    }

    private static func push(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (PushFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: PushFacts.self, of: source, permits: permits)
    }
}
