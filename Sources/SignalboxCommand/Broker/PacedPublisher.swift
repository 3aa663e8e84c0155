import MQTTPush

/// Hands messages to a publisher one after another, no faster than the publisher has room for them, and with at least the
/// interval between two starts.
struct PacedPublisher: Sendable {
    /// How often the command checks whether the publisher has room for another message or has finished publishing.
    private static let pause: Duration = .milliseconds(2)

    let publisher: MQTTPublisher
    /// The minimum time between the starts of two messages, or `nil` for none.
    let interval: Duration?
    private var next: ContinuousClock.Instant?

    init(_ publisher: MQTTPublisher, interval: Duration?) {
        (self.publisher, self.interval) = (publisher, interval)
    }

    /// Waits until it is time for the next message and the publisher has room for it.
    ///
    /// - Returns: `false` if the publisher refused the message, or if the task is cancelled first.
    mutating func publish(_ message: MQTTMessage) async -> Bool {
        if let next, (try? await ContinuousClock().sleep(until: next)) == nil { return false }
        if let interval { next = .now + interval }
        while true {
            do throws(MQTTPublishError) {
                try publisher.offer(message)
                return true
            } catch {
                // If the task is cancelled, it stops waiting for room immediately.
                guard error.code == .queueFull, (try? await Task.sleep(for: Self.pause)) != nil else { return false }
            }
        }
    }

    /// Waits until each message is published or has failed, or until the task is cancelled.
    func finish() async {
        while publisher.counts.waiting > 0, (try? await Task.sleep(for: Self.pause)) != nil {}
    }
}
