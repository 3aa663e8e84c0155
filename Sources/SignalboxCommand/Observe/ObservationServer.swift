import AdapterSupport
import Dispatch
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Answers `/metrics`, `/healthz`, `/readyz` and `/console` on a listener.
final class ObservationServer: Sendable {
    private let section: ObserveSection
    private let listener: WebListener
    private let observation: Observation
    private let console: ConsoleService?
    private let logger: Logger

    /// - Parameter console: Answers the console's questions, if there is one.
    init(
        _ section: ObserveSection,
        on listener: WebListener,
        _ observation: Observation,
        _ console: ConsoleService?,
        logger: Logger
    ) {
        (self.section, self.listener, self.observation) = (section, listener, observation)
        (self.console, self.logger) = (console, logger)
    }

    /// Begins to answer. Detach the result to end.
    ///
    /// - Throws: ``CommandFailure`` if the token cannot be read or the port is not free.
    func start() async throws(CommandFailure) -> ListenerAttachment {
        let access = ObservationAccess(
            tokens: try await readToken(),
            isLocal: WebSocketServerConfiguration.isLocal(section.listener.configuration.address),
            isShared: section.listener.name != nil
        )
        do throws(WebSocketChatError) {
            let console = console.flatMap { service in
                section.console.map { ObservedConsole(service: service, isReadOnly: $0 == .readOnly) }
            }
            let attachment = try await listener.attach(isAuxiliary: true) { [observation] in
                ObservationReceiver(observation, access, console, answerer: $0)
            }
            logger.info("observe: listening on \(section.listener.configuration.url(port: attachment.port))/")
            return attachment
        } catch {
            throw CommandFailure(.cannotListen, "observe: \(error.commandText)")
        }
    }

    private func readToken() async throws(CommandFailure) -> PrincipalTokens {
        let holder = section.token.map { [WebSocketPrincipal("observe", token: $0)] } ?? []
        // Reading a file may block, and this runs on the cooperative pool.
        let result = await FileContent.waiting(on: DispatchQueue(label: "signalbox.observe")) {
            Result { () throws(WebSocketChatError) in try PrincipalTokens(reading: holder) }
        }
        do throws(WebSocketChatError) { return try result.get() } catch {
            throw CommandFailure(.invalidConfiguration, "observe: \(error.commandText)")
        }
    }
}
