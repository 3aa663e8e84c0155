#if MQTT
extension BrokerConnection {
    /// Adds a SUBSCRIBE to the output.
    ///
    /// - Returns: Its packet identifier.
    func subscribe(_ group: SubscriptionGroup) throws(PacketEncodingError) -> UInt16 {
        let packet = try addRequest { (packet) throws(PacketEncodingError) in
            try output.subscribe(
                group,
                packet: packet,
                identifier: group.identifier,
                version: settings.version,
                packetLimit: packetLimit
            )
        }
        checker.expectSuback(packet, filters: group.filters.count)
        return packet
    }

    /// Adds an UNSUBSCRIBE to the output.
    ///
    /// - Returns: Its packet identifier.
    func unsubscribe(_ filters: [String]) throws(PacketEncodingError) -> UInt16 {
        let packet = try addRequest { (packet) throws(PacketEncodingError) in
            try output.unsubscribe(filters, packet: packet, version: settings.version, packetLimit: packetLimit)
        }
        checker.expectUnsuback(packet, filters: filters.count)
        return packet
    }

    private func addRequest(
        _ add: (UInt16) throws(PacketEncodingError) -> Void
    ) throws(PacketEncodingError) -> UInt16 {
        guard let packet = identifiers.take() else { throw .outputFull }
        do throws(PacketEncodingError) {
            try add(packet)
        } catch {
            identifiers.release(packet)
            throw error
        }
        return packet
    }
}

extension BrokerConnection {
    /// Hands a message to the role.
    func deliver(
        _ publish: PublishPacket,
        length: Int,
        _ frame: PacketFrame,
        _ bytes: UnsafeRawBufferPointer
    ) throws(PacketViolation) {
        let rule = checker.withTopic(of: publish, in: bytes) { topic in
            var message = BrokerMessage(
                topic: topic,
                payload: UnsafeRawBufferPointer(rebasing: bytes[publish.payload]),
                isRetained: publish.isRetained,
                qos: Int32(publish.qos)
            )
            message.packet = publish.packet
            if publish.hasPublisherProperties {
                message.properties = UnsafeRawBufferPointer(rebasing: bytes[publish.properties])
            }
            message.subscription = publish.subscription
            message.length = length
            message.isDuplicate = publish.isDuplicate
            return role.received(message)
        }
        if let rule { throw PacketViolation(rule, at: frame.body.lowerBound).located(in: frame) }
    }
}
#endif
