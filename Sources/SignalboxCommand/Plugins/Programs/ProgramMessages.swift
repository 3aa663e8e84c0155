import Signalbox
import SignalboxCore
import Synchronization

/// The source of the actions that the program itself causes: those that processes send without being asked, and those that
/// `signalbox send --to-running` sends. Its name is `internal`.
///
/// A process that sends more than the source's window takes is not read until there is room.
final class ProgramMessages: PluginFedAdapter {
    private struct State {
        /// Where the actions go while the source runs.
        var intake: (any Intake)?
        /// Whom to tell that there is room.
        var readers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let waits = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    var source: SourceName { SourceSection.internalName }
    var features: AdapterFeatures { [] }

    /// Takes actions as far as there is room.
    ///
    /// - Parameter onRoom: Called once there is room again, if not all were taken.
    /// - Returns: How many were taken, or `nil` if no supervisor runs this source.
    func offer(_ arrivals: [Arrival], onRoom: @escaping @Sendable () -> Void) -> Int? {
        guard let intake = state.withLock({ $0.intake }) else { return nil }
        let taken = intake.submit(arrivals, to: NoSender.shared)
        guard taken < arrivals.count else { return taken }
        let isServed = state.withLock { state in
            guard state.intake != nil else { return false }
            state.readers.append(onRoom)
            return true
        }
        if isServed { waits.continuation.yield() }
        return isServed || taken > 0 ? taken : nil
    }

    /// Dispatches an action and waits for its outcome.
    ///
    /// - Returns: The outcome, or `nil` if no supervisor runs this source.
    func deliver(_ arrival: Arrival) async -> Outcome? {
        guard let intake = state.withLock({ $0.intake }) else { return nil }
        return await intake.deliver([arrival]).first
    }

    func run(into intake: any Intake) async {
        state.withLock { $0.intake = intake }
        for await _ in waits.stream {
            do throws(SourceClosed) { try await intake.room() } catch { break }
            tellReaders()
        }
        state.withLock { $0.intake = nil }
        tellReaders()
    }

    private func tellReaders() {
        let readers = state.withLock { state in
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader() }
    }

    /// Ignores the outcomes, which the supervisor counts and logs.
    private final class NoSender: SettlementSink {
        static let shared = NoSender()

        func mayAcknowledge(_ token: UInt64) {}
        func settle(_ token: UInt64, _ outcome: Outcome) {}
    }
}
