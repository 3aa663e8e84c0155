#if WebKitGTK
import BrowserBridge
import Logging
import SignalboxCore
import WebSocketChat

/// Serves documents on a loopback port while a closure runs. The server refuses every WebSocket handshake.
enum SiteServer {
    /// - Parameter body: Receives the port. The server runs until this closure returns.
    static func serving(
        _ documents: [String: BrowserDocument],
        _ logger: Logger,
        _ body: @escaping @Sendable (UInt16) async throws -> CommandStatus
    ) async throws -> CommandStatus {
        var site = WebSocketServerConfiguration(source: "site", port: 0)
        site.absentOrigin = .refused
        site.healthPath = nil
        site.pages = documents.mapValues {
            WebSocketPage(contentType: $0.contentType, body: $0.body, policy: .siteWithInlineCode)
        }
        // The page's address is not worth a log line.
        var quiet = logger.withoutSecrets
        quiet.logLevel = max(quiet.logLevel, .warning)
        let server = try WebSocketServer(site, logger: quiet)
        return try await withThrowingTaskGroup(of: CommandStatus?.self) { group in
            group.addTask {
                try await server.run(into: ClosedIntake())
                return nil
            }
            group.addTask {
                guard let port = await server.port() else { return nil }
                return try await body(port)
            }
            for try await status in group {
                guard let status else { continue }
                group.cancelAll()
                return status
            }
            return .unavailable
        }
    }

    private struct ClosedIntake: Intake {
        func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int { 0 }
        func room() async throws(SourceClosed) { throw SourceClosed() }
    }
}
#endif
