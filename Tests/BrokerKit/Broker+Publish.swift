import Foundation

extension Broker {
    /// Publishes one message with `mosquitto_pub` at MQTT 5 and returns when the broker has acknowledged it.
    ///
    /// - Parameters:
    ///   - payload: the message's bytes; it goes through a file, so any bytes will do.
    ///   - qos: 0, 1 or 2.
    ///   - properties: as `mosquitto_pub -D publish` takes them, such as `["content-type", "text/plain"]`.
    /// - Throws: ``BrokerKitError`` when the broker did not take it.
    public func publish(
        _ payload: [UInt8],
        to topic: String,
        qos: Int = 1,
        retain: Bool = false,
        properties: [[String]] = []
    ) async throws {
        let file = folder.appendingPathComponent("payload-\(UUID().uuidString)")
        try Data(payload).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var arguments = ["-h", "127.0.0.1", "-p", "\(openPort)", "-V", "5", "-q", "\(qos)", "-t", topic]
        arguments += payload.isEmpty ? ["-n"] : ["-f", file.path]
        if retain { arguments.append("-r") }
        for property in properties { arguments += ["-D", "publish"] + property }
        let status = try await RunningProgram("mosquitto_pub", arguments).status()
        guard status == 0 else { throw BrokerKitError("mosquitto_pub to \(topic) ended with status \(status)") }
    }

    /// Publishes one text with QoS 1.
    public func publish(_ text: String, to topic: String, retain: Bool = false) async throws {
        try await publish(Array(text.utf8), to: topic, retain: retain)
    }

    /// Publishes each text, which has one line, as a message of its own with QoS 1, in this order over one connection;
    /// returns when the broker has acknowledged all.
    ///
    /// - Throws: ``BrokerKitError`` when the broker did not take them.
    public func publish(lines: [String], to topic: String) async throws {
        guard !lines.isEmpty else { return }
        let file = folder.appendingPathComponent("lines-\(UUID().uuidString)")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let arguments = ["-h", "127.0.0.1", "-p", "\(openPort)", "-V", "5", "-q", "1", "-t", topic, "-l"]
        let status = try await RunningProgram("mosquitto_pub", arguments, input: file).status()
        guard status == 0 else { throw BrokerKitError("mosquitto_pub to \(topic) ended with status \(status)") }
    }
}
