extension BrokerConnection {
    /// Adds a SUBSCRIBE to the output.
    ///
    /// - Returns: Its packet identifier.
    func subscribe(_ group: SubscriptionGroup) throws(PacketEncodingError) -> UInt16 {
        let packet = try addRequest { (packet) throws(PacketEncodingError) in
            try output.subscribe(group, packet: packet, version: settings.version, packetLimit: packetLimit)
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
