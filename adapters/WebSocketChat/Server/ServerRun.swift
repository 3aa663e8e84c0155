import SignalboxCore
import Synchronization

/// The state of one run of a server. Any thread.
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

    /// Starts to listen.
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

    /// Serves until the task is cancelled or the intake closes.
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

/// The progress of a server's run, shared by its task and its thread; neither blocks on the other. Any thread.
final class ServerSteps: Sendable {
    /// The steps in order. A step may be skipped.
    enum Step: Int, Comparable {
        case serving
        /// Requested of the thread: accept no clients and stop reading.
        case stopping
        /// Reported by the thread: everything read has been submitted or abandoned.
        case quiet
        /// Requested of the thread: close the connections, because all outcomes have been queued.
        case leaving
        /// Reported by the thread: the clients have disconnected or their time is up.
        case gone

        static func < (left: Step, right: Step) -> Bool { left.rawValue < right.rawValue }
    }

    private struct State {
        var step = Step.serving
        var waiters: [(step: Step, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var current: Step { state.withLock { $0.step } }

    /// Advances to a step, unless it has already been reached.
    func advance(to step: Step) {
        let ready = state.withLock { state in
            state.step = max(state.step, step)
            let reached = state.step
            let ready = state.waiters.filter { $0.step <= reached }
            state.waiters.removeAll { $0.step <= reached }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits for a step, even in a cancelled task.
    func reached(_ step: Step) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.step >= step { return true }
                state.waiters.append((step, continuation))
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
