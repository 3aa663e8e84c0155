import SignalboxTesting

extension EventList<String> {
    /// The warnings and errors with this text.
    func warnings(_ text: String) -> [String] {
        all.filter { ($0.hasPrefix("warning") || $0.hasPrefix("error")) && $0.contains(text) }
    }
}

extension WireSide {
    /// Sends a text and waits for it to come back; pings that come before are answered.
    mutating func echo(_ text: String) async throws -> Bool {
        send(.text(text))
        while let frame = try await frame() {
            guard frame.opcode == WireFrame.ping else { return frame == .text(text) }
            send(WireFrame(WireFrame.pong, frame.payload))
        }
        return false
    }
}
