import AdapterSupport
import SecureTransport

extension BrokerConnection {
    /// Ends the connection for a reason that this side has, or that the broker has given. Unless the link has failed, the
    /// broker gets everything that is in the output, and a DISCONNECT.
    func close(_ link: any Link, _ reason: BrokerDisconnectReason) throws(LinkError) -> BrokerDisconnectReason {
        guard isOpen || reason.violation != nil else { return reason }
        switch reason {
        case .closed, .lost, .refused, .timedOut: return reason
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
        } else if code == nil {
            output.disconnect()
        }
        let lingering = LingeringClose(link.descriptor)
        try write(link)
        while !output.isEmpty, .now < end {
            let isClosed = wait(on: link, isReading: false, until: end)
            try write(link)
            // The broker may still read, but the wait would no longer last.
            if isClosed { break }
        }
        link.finish()
        lingering?.wait(limit: max(.zero, start + settings.farewellLimit - .now))
    }
}
