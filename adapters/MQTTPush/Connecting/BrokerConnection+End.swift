#if MQTT
import AdapterSupport
import SecureTransport

extension BrokerConnection {
    /// Ends the connection for a reason that this side has, or that the broker has given. Unless the link has failed, the
    /// broker gets everything that is in the output, and a DISCONNECT.
    func close(_ link: any Link, _ reason: BrokerDisconnectReason) throws(LinkError) -> BrokerDisconnectReason {
        guard isOpen || reason.violation != nil else { return reason }
        switch reason {
        case .lost: return lastReason(link) ?? reason
        case .closed, .refused, .timedOut: return reason
        default: break
        }
        // What the link throws from here on does not change the reason.
        do throws(LinkError) {
            try farewell(link, reason.violation)
        } catch {}
        return reason
    }

    private func farewell(_ link: any Link, _ violation: PacketViolation?) throws(LinkError) {
        let start = ContinuousClock.now
        // The acknowledgements must leave even if the client does not wait until the broker has read them.
        let end = start + max(settings.farewellLimit, min(settings.answerTimeout, .seconds(1)))
        let code = violation.map { ReasonCode(rawValue: Int32($0.code)) }
        if let code, settings.version == .v5 {
            try? output.disconnect(code, version: settings.version, packetLimit: packetLimit)
        }
        let endsSession = code == nil && disconnect()
        // A broker that has closed the connection already does not read the DISCONNECT.
        let isOpen = !SocketWait(socket: link.descriptor, for: .hangUp, wake: -1, limit: .zero).isClosed
        let lingering = LingeringClose(link.descriptor)
        try write(link)
        while !output.isEmpty, .now < end {
            let isClosed = wait(on: link, isReading: false, hasOutput: true, until: end)
            try write(link)
            // The broker may still read, but the wait would no longer last.
            if isClosed { break }
        }
        link.finish()
        let isRead = lingering?.wait(limit: max(.zero, start + settings.farewellLimit - .now)) ?? false
        if isRead, isOpen, output.isEmpty, endsSession { role.farewellWasRead() }
    }

    /// Adds the DISCONNECT of a normal end. It also ends the session if the role wants that. MQTT 3.1.1 has no way to say so,
    /// and a session that ends with the connection needs none.
    ///
    /// - Returns: Whether the session ends with the connection.
    private func disconnect() -> Bool {
        let isWanted = role.endsSession && settings.version == .v5
        if isWanted, limits.sessionExpiry > 0 {
            do throws(PacketEncodingError) {
                try output.disconnect(.success, sessionExpiry: 0, version: settings.version, packetLimit: packetLimit)
                return true
            } catch {}
        }
        output.disconnect()
        return isWanted && limits.sessionExpiry == 0
    }

    /// Looks for the reason that the broker has given behind packets that were not read yet, for example because
    /// messages were in progress. The answers to published messages among them still count. The messages are dropped, and
    /// the broker redelivers those of QoS 1.
    func lastReason(_ link: any Link) -> BrokerDisconnectReason? {
        guard isOpen, settings.version == .v5 else { return nil }
        var budget = BrokerConnection.bytesPerTurn
        // What the packets or the link throw does not change the reason.
        do {
            while budget > 0 {
                while let frame = try splitter.next() {
                    let packet = try splitter.withBytes { (bytes) throws(PacketViolation) in
                        try checker.check(frame, in: bytes)
                    }
                    if case .disconnect(let code, let reference) = packet { return closed(code, reference) }
                    if case .puback = packet { role.answered(packet) }
                }
                let count = try splitter.fill { (buffer) throws(LinkError) in try link.read(into: buffer) }
                guard count > 0 else { return nil }
                budget -= count
            }
        } catch {}
        return nil
    }
}
#endif
