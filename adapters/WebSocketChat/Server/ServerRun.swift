import SignalboxCore

/// What belongs to one run of a server. Any thread.
final class ServerRun: Sendable {
    let configuration: WebSocketServerConfiguration
    let policy: UpgradePolicy
    let hub: ChatHub
    let counters: ServerCounters
    let log: ServerLog
    let intake: any Intake
    let table: SettlementTable
    let room = RoomRequests()
    let steps = ServerSteps()

    init(_ server: WebSocketServer, tokens: PrincipalTokens, intake: any Intake) {
        configuration = server.configuration
        policy = UpgradePolicy(configuration, tokens: tokens)
        hub = server.hub
        counters = server.counters
        log = server.log
        self.intake = intake
        table = SettlementTable(answers: configuration.answers)
    }

    /// Begins to listen.
    ///
    /// - Throws: `notListening`, `noResources`.
    func listen() async throws(WebSocketChatError) -> LibraryTransport {
        do throws(TransportFault) {
            return try await LibraryTransport.server(configuration.place, limits: configuration.transportLimits) {
                ServerReceiver(self, transport: $0)
            }
        } catch {
            let code: WebSocketChatError.Code = error.code == .noResources ? .noResources : .notListening
            throw WebSocketChatError(code, error.description, source: configuration.source)
        }
    }

    /// Serves until the task is cancelled or the intake is closed.
    func serve(on transport: LibraryTransport) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [room, intake] in await room.serve(intake) { transport.wake() } }
                await steps.reached(.quiet)
                room.finish()
                await table.settled()
                steps.advance(to: .leaving)
                transport.wake()
                await steps.reached(.gone)
            }
        } onCancel: {
            steps.advance(to: .stopping)
            transport.wake()
        }
        transport.stop()
        await transport.stopped()
    }
}
