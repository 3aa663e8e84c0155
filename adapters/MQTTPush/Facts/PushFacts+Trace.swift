public import SignalboxCore

extension PushFacts: TraceCarrying {
    /// The MQTT 5 user property of that name (W3C Trace Context: MQTT protocol, 4).
    ///
    /// - Returns: `nil` when the message has none, or several of that name: then nobody knows which one counts.
    public func traceValue(forKey key: String) -> String? {
        guard let properties = properties?.userProperties else { return nil }
        var found: String?
        for property in properties where property.name == key {
            guard found == nil else { return nil }
            found = property.value
        }
        return found
    }
}
