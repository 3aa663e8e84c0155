#if WebSocket
package import AdapterSupport
import SignalboxCore
import Synchronization

/// The state of a single run of a server. Safe to use from any thread.
final class ServerRun: Sendable {
    let server: WebSocketServer
    let policy: UpgradePolicy
    let intake: any Intake
    let table: SettlementTable
    let room = RoomRequests()
    let shutdown = ServerShutdown()

    init(_ server: WebSocketServer, tokens: PrincipalTokens, intake: any Intake) {
        self.server = server
        policy = UpgradePolicy(server.configuration, tokens: tokens)
        self.intake = intake
        table = SettlementTable(answers: server.configuration.answers)
    }

    /// Listens and serves clients until the task is cancelled or the intake closes.
    ///
    /// - Parameter listens: Called once the server listens.
    /// - Throws: `notListening` or `noResources`.
    func serve(listens: (LibraryTransport) -> Void) async throws(WebSocketChatError) {
        let site = ListenerSite(server.traits) { .sockets(ServerReceiver(self, transport: $0)) }
        let transport: LibraryTransport
        do throws(TransportError) {
            transport = try await server.listener.attach(site)
        } catch {
            let code: WebSocketChatError.Code = error.code == .noResources ? .noResources : .notListening
            throw WebSocketChatError(code, error.description, source: server.source)
        }
        listens(transport)
        await serve(on: transport)
        await server.listener.detach(site)
    }

    private func serve(on transport: LibraryTransport) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [room, intake] in await room.serve(intake) { _ in transport.wake() } }
                await shutdown.drained.value()
                room.finish()
                await table.settled()
                shutdown.advance(to: .closing)
                transport.wake()
                await shutdown.closed.value()
            }
        } onCancel: {
            shutdown.advance(to: .stopping)
            transport.wake()
        }
    }
}

/// Coordinates the shutdown of a run between its task and its thread. Neither blocks the other.
///
/// This type is safe to use from any thread.
package final class ServerShutdown: Sendable {
    /// The phases, in order. A run may skip a phase.
    package enum Phase: Int, Comparable, Sendable {
        case serving
        /// Requested by the task. The thread then accepts no more clients and stops reading.
        case stopping
        /// Reported by the thread when everything that was read has been submitted or abandoned.
        case drained
        /// Requested by the task when all outcomes have been queued. The thread then closes the connections.
        case closing
        /// Reported by the thread when the clients have disconnected or have run out of time.
        case closed

        package static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    private let phase = Mutex(Phase.serving)
    /// Fulfilled when the run reaches the phase `drained` or a later one.
    package let drained = Promise<Void>()
    /// Fulfilled when the run reaches the phase `closed`.
    package let closed = Promise<Void>()

    package init() {}

    package var current: Phase { phase.withLock { $0 } }

    /// Advances to a phase, unless the run has already reached it.
    package func advance(to next: Phase) {
        let reached = phase.withLock { phase in
            phase = max(phase, next)
            return phase
        }
        if reached >= .drained { drained.set(()) }
        if reached >= .closed { closed.set(()) }
    }
}
#endif
