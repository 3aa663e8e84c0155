import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// Ends subscriptions of a session that the broker keeps, or the whole session.
struct SubscriptionEnd {
    let session: MQTTSession
    /// The filters to unsubscribe, or none to end the session.
    let filters: [TopicFilter]
    /// How the session is called in messages: its client id.
    let name: String
    /// How long the broker keeps the session, or `nil` if that has no limit.
    let expiry: Duration?
    let timeout: Duration?

    /// - Parameter configuration: The configuration of a source with the session's client id.
    /// - Throws: `MQTTPushError` if a setting is invalid.
    init(
        _ configuration: MQTTPushConfiguration,
        filters: [TopicFilter],
        timeout: Duration?,
        logger: Logger
    ) throws(MQTTPushError) {
        session = try MQTTSession(configuration, logger: logger)
        self.filters = filters
        name = configuration.clientID.text.debugDescription
        expiry = configuration.version == .v5 ? configuration.sessionExpiry : nil
        self.timeout = timeout
    }

    /// Connects, and reports the result on stderr.
    func run() async -> CommandStatus {
        let signals = SignalWatch.begin()
        return await withTaskGroup(of: CommandStatus.self) { group in
            group.addTask { await finish() }
            group.addTask {
                guard let status = await signals.interruption(timeout: timeout) else { return .interrupted }
                let reason = status == .timeout ? "timed out" : "ended by a signal"
                DiagnosticOutput.shared.report(
                    "\(reason): the broker has not confirmed the end of the session's \(subject)"
                )
                return status
            }
            defer { group.cancelAll() }
            return await group.next() ?? .unavailable
        }
    }

    private var subject: String { filters.isEmpty ? "messages" : "subscriptions" }

    private func finish() async -> CommandStatus {
        let hadSession: Bool
        do throws(MQTTPushError) {
            hadSession = try await filters.isEmpty ? session.end() : session.unsubscribe(filters)
        } catch {
            // A signal or the timeout is reported instead.
            if !Task.isCancelled { DiagnosticOutput.shared.report(error.commandText) }
            return CommandStatus(error)
        }
        guard hadSession else {
            DiagnosticOutput.shared.report("the broker has no session \(name): check --id")
            return .notAsExpected
        }
        DiagnosticOutput.shared.report(summary, level: .info)
        return .done
    }

    private var summary: String {
        guard !filters.isEmpty else { return "the session \(name) has ended, and its waiting messages are gone" }
        let count = filters.count == 1 ? "1 topic filter" : "\(filters.count) topic filters"
        let kept = expiry.map { "for \(DurationText.text($0))" } ?? "until it is ended"
        return "unsubscribed from \(count); the broker keeps the session \(name) and its waiting messages \(kept)"
    }
}
