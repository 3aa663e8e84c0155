#if MQTT
import AdapterSupport

extension BrokerConnection {
    /// Answers a challenge of the broker in an enhanced authentication (MQTT 5.0, 4.12).
    func authenticate(_ challenge: [UInt8]) -> BrokerDisconnectReason? {
        guard let method = exchange?.method else { return nil }
        // A broker can send many challenges at once.
        if let reason = attemptEnd { return reason }
        do throws(MQTTPushError) {
            let data = try call { exchange throws(MQTTPushError) in try exchange?.answer(challenge) }
            do throws(PacketEncodingError) {
                let code = ReasonCode(rawValue: 0x18)
                try output.authenticate(code, method: method, data: data, version: settings.version)
            } catch {
                throw .invalid("AUTH: \(error)")
            }
            return attemptEnd
        } catch {
            return .setupFailed(error)
        }
    }

    /// Checks what the broker sent when it accepted the client.
    func finishAuthentication(_ data: [UInt8]?) -> BrokerDisconnectReason? {
        guard exchange != nil else { return nil }
        do throws(MQTTPushError) {
            try call { exchange throws(MQTTPushError) in try exchange?.succeed(data) }
            exchange = nil
            return attemptEnd
        } catch {
            return .setupFailed(error)
        }
    }

    /// Makes a call that may block.
    @discardableResult
    private func call<Value>(
        _ call: (inout AuthenticationExchange?) throws(MQTTPushError) -> Value
    ) throws(MQTTPushError) -> Value {
        try blocking {
            do throws(MQTTPushError) { return .success(try call(&exchange)) } catch { return .failure(error) }
        }
    }
}
#endif
