import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// A session that no source uses any more.
struct AbandonedSession: Sendable {
    /// The configuration of the connection that last used the session.
    let push: MQTTPushConfiguration
    /// The topics to which the session may subscribe.
    let topics: [MQTTTopic]
    /// Whether a client of the program has this client id, at another address or for publishing. If both addresses lead to
    /// one broker, connecting would end that client's connection.
    let isIDInUse: Bool

    /// Unsubscribes from the topics. Messages that wait in the session stay. A failure is a warning that names the command
    /// which does the same.
    func unsubscribe(logger: Logger) async {
        var metadata: Logger.Metadata = ["source": "\(push.source)"]
        guard let reason = await failure(logger) else {
            logger.info("unsubscribed from the topics of a session that no source uses", metadata: metadata)
            return
        }
        metadata["reason"] = "\(reason)"
        metadata["advice"] = "\(command)"
        logger.warning("a session that no source uses keeps its subscriptions", metadata: metadata)
    }

    /// Returns why the session keeps its subscriptions, or `nil` if it has none any more.
    private func failure(_ logger: Logger) async -> String? {
        guard !isIDInUse else { return "a client of the new configuration has the same id" }
        var push = push
        push.firstConnectionMustSucceed = true
        let filters = topics.map(\.pattern.filter)
        // Each broker of a list may be tried.
        let limit = max(push.answerTimeout, push.connectTimeout * push.brokers.count)
        do throws(MQTTPushError) {
            let session = try MQTTSession(push, connection: push.connectionName, logger: logger)
            return await withTaskGroup(of: String?.self) { group in
                group.addTask { await AbandonedSession.failure(of: session, filters) }
                group.addTask {
                    guard (try? await Task.sleep(for: limit)) != nil else { return "the program ended first" }
                    return "no answer within \(DurationText.text(limit))"
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        } catch {
            return error.commandText
        }
    }

    private static func failure(of session: MQTTSession, _ filters: [TopicFilter]) async -> String? {
        // A session can have the topics of several configurations.
        for start in stride(from: 0, to: filters.count, by: 1_000) {
            do throws(MQTTPushError) {
                try await session.unsubscribe(Array(filters[start..<min(start + 1_000, filters.count)]))
            } catch {
                return error.commandText
            }
        }
        return nil
    }

    /// The command that unsubscribes, without the options for logging in.
    var command: String {
        let urls = push.brokers.map { AbandonedSession.quoted($0.url) }
        let filters = topics.prefix(3).map { "-t \(AbandonedSession.quoted($0.pattern.filter.text))" }
        // Without its session expiry, the command would shorten that of the session.
        let expiry = "--session-expiry \(DurationText.text(push.sessionExpiry))"
        let words =
            ["unsubscribe: signalbox subscribe"] + urls
            + ["--id", AbandonedSession.quoted(push.clientID.text), "--unsubscribe"]
            + filters + (topics.count > 3 ? ["-t ..."] : []) + [push.version == .v5 ? expiry : "--v311"]
            + (push.proxy.map { ["--proxy", AbandonedSession.quoted("\($0)")] } ?? [])
        return words.joined(separator: " ")
    }

    /// Returns the text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}
