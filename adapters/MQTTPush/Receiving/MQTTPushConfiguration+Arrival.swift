package import SignalboxCore
package import SignalboxRoutes

extension MQTTPushConfiguration {
    /// The arrival that a message would be, without properties; nothing is connected. For explanations.
    ///
    /// - Parameters:
    ///   - topic: also one that no pattern matches; the arrival is rejected then, as it would be.
    ///   - qos: 0 or 1.
    package func arrival(of payload: [UInt8], on topic: TopicName, retained: Bool, qos: Int) -> Arrival? {
        let receiver = PushReceiver(configuration: self)
        payload.withUnsafeBytes { payload in
            Array(topic.text.utf8).withUnsafeBytes { topic in
                receiver.take(payload, on: topic, retained: retained, qos: qos == 0 ? 0 : 1, nil)
            }
        }
        return receiver.takeBatch().first
    }
}
