import SignalboxRoutes

extension MQTTPushConfiguration {
    /// Checks every range, and that the values go together.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
    public func validate() throws(MQTTPushError) {
        do {
            try validateTopics(topics)
            try validateConnections()
            try security.validate(for: broker)
            try will?.validate()
            try validateSession()
            try validateBounds()
            try validateTimes()
            try reconnect.validate()
            try deliveries?.validate()
            try validatePublishing()
        } catch {
            throw error.about(source)
        }
    }

    private func validateConnections() throws(MQTTPushError) {
        guard connections.count <= 16 else { throw fault("a push source has at most 16 further connections") }
        var names: Set<String> = []
        for connection in connections {
            try connection.validate()
            guard names.insert(connection.name).inserted else {
                throw fault("two connections are called \(connection.name); give each a name of its own")
            }
            try validateTopics(connection.topics)
        }
    }

    private func validateTopics(_ topics: [MQTTTopic]) throws(MQTTPushError) {
        guard (1...1_000).contains(topics.count) else { throw fault("a connection has 1 to 1000 topics") }
        var filters: Set<String> = []
        for topic in topics {
            try topic.validate()
            guard filters.insert(topic.pattern.filter.text).inserted else {
                let shown = topic.pattern.filter.text.debugDescription
                throw fault("two topics subscribe to \(shown); only the first would ever be used")
            }
        }
    }

    private func validateSession() throws(MQTTPushError) {
        guard sessionExpiry.isWholeSeconds(in: 0...4_294_967_294) else {
            throw fault("the session expiry is a whole number of seconds, 0 to 4294967294")
        }
        if clientID.isRandom && (!cleanStart || sessionExpiry != .zero) {
            throw fault("a session needs a fixed client id; with a random one use clean start and no session expiry")
        }
        if version == .v311 && cleanStart && sessionExpiry != .zero {
            throw fault(
                "MQTT 3.1.1 cannot discard a session and keep the next; use clean start or a session expiry, not both"
            )
        }
        if password != nil && username == nil { throw fault("a password needs a user name") }
    }

    private func validateBounds() throws(MQTTPushError) {
        guard (1...65_535).contains(receiveMaximum) else { throw fault("the receive maximum is 1 to 65535") }
        guard batchMessages >= 1, batchMessages <= receiveMaximum else {
            throw fault("a batch has at least 1 message and at most the receive maximum (\(receiveMaximum))")
        }
        guard (1...8 * 1024 * 1024).contains(batchBytes) else { throw fault("a batch's bytes are 1 to 8 MiB") }
        guard (1...65_536).contains(rememberedTopics) else { throw fault("the remembered topics are 1 to 65536") }
    }

    private func validateTimes() throws(MQTTPushError) {
        guard keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535) else {
            throw fault("the keepalive is 0 (none) or a whole number of seconds, 5 to 65535")
        }
        guard (Duration.milliseconds(10) ... .seconds(3_600)).contains(holdLimit) else {
            throw fault("the hold limit is 10 ms to 1 h")
        }
        guard (Duration.milliseconds(100) ... .seconds(3_600)).contains(answerTimeout) else {
            throw fault("the answer timeout is 100 ms to 1 h")
        }
        guard (Duration.zero ... .seconds(3_600)).contains(farewellTimeout) else {
            throw fault("the farewell timeout is 0 to 1 h")
        }
    }

    private func fault(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }
}

extension Duration {
    func isWholeSeconds(in range: ClosedRange<Int64>) -> Bool {
        components.attoseconds == 0 && range.contains(components.seconds)
    }
}
