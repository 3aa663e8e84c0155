import SignalboxCore

/// The body of ``ActionName/pushSessionLost``.
enum SessionNews {
    /// - Parameter configuration: that of the connection whose session it was.
    static func lost(_ configuration: MQTTPushConfiguration) -> [UInt8] {
        var text = JSONText()
        text.append(literal: "{\"broker\":")
        text.append(string: configuration.broker.description)
        text.append(literal: ",\"client_id\":")
        text.append(string: configuration.clientID.text)
        if let connection = configuration.connectionName {
            text.append(literal: ",\"connection\":")
            text.append(string: connection)
        }
        text.append(UInt8(ascii: "}"))
        return text.bytes
    }
}
