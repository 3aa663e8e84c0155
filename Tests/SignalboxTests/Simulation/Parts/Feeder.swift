import SignalboxCore
import SignalboxTesting

/// A sink that sends the messages of a source's scenario, and sends abandoned ones again if the source redelivers.
final class Feeder: SettlementSink {
    private struct State: Sendable {
        /// The unsettled messages, by token.
        var inside: [UInt64: Inside] = [:]
        /// The abandoned messages, oldest first.
        var again: [Int] = []
        var tokens: UInt64 = 0
        var isDone = false

        func isEmpty(_ generation: Int) -> Bool { !inside.values.contains { $0.generation == generation } }
    }

    private struct Inside: Sendable {
        let message: Int
        /// The generation of the intake to which the message was submitted.
        let generation: Int
    }

    private let scenario: SourceScenario
    private let world: SimulationWorld
    private let origin: Origin
    private let state = Watched(State())

    init(_ scenario: SourceScenario, _ world: SimulationWorld) {
        self.scenario = scenario
        self.world = world
        origin = Origin(source: scenario.name, facts: TestFacts())
    }

    /// Sends all messages and waits until they are settled. Stops sending when the task is cancelled or the intake
    /// closes.
    func feed(into intake: ObservedIntake) async {
        let generation = intake.mark.generation
        await sendAll(into: intake, generation)
        await state.untilUncancelled { $0.isEmpty(generation) }
        finish()
    }

    /// Waits until everything is sent and settled, or the task is cancelled.
    func untilDone() async {
        await state.until { $0.isDone }
    }

    /// Marks the source as done, when another part has sent everything.
    func finish() {
        state.change { $0.isDone = true }
    }

    private func sendAll(into intake: any Intake, _ generation: Int) async {
        for feed in scenario.feeds {
            await world.wait(feed.pause)
            guard await send(feed.messages, into: intake, generation) else { return }
        }
        while await state.until({ $0.isEmpty(generation) || !$0.again.isEmpty }) {
            let again = state.change { state in
                defer { state.again = [] }
                return state.again
            }
            guard !again.isEmpty else { return }
            await world.wait(1)
            guard await send(again, into: intake, generation) else { return }
        }
    }

    /// - Returns: Whether to continue.
    private func send(_ messages: [Int], into intake: any Intake, _ generation: Int) async -> Bool {
        var rest = arrivals(messages, generation)[...]
        while !Task.isCancelled {
            rest = rest.dropFirst(intake.submit(Array(rest), to: self))
            if rest.isEmpty { return true }
            do throws(SourceClosed) { try await intake.room() } catch { break }
            await world.wait(scenario.lingers)
        }
        let left = rest.map(\.token)
        state.change { state in for token in left { state.inside[token] = nil } }
        return false
    }

    private func arrivals(_ messages: [Int], _ generation: Int) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for message in messages {
            let token = state.change { state in
                state.tokens += 1
                state.inside[state.tokens] = Inside(message: message, generation: generation)
                return state.tokens
            }
            batch.append(world.scenario.messages[message], token: token, origin: origin)
        }
        return batch.take()
    }
}

extension Feeder {
    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        var isRedelivered = false
        if case .abandoned = outcome { isRedelivered = scenario.features.contains(.redelivers) }
        state.change { [isRedelivered] state in
            guard let inside = state.inside.removeValue(forKey: token), isRedelivered else { return }
            state.again.append(inside.message)
        }
    }
}

extension ArrivalBatch {
    mutating func append(_ message: MessageScenario, token: UInt64, origin: Origin) {
        let deadline: ContinuousClock.Instant? =
            switch message.deadline {
            case .none: nil
            case .past: .now
            case .far: .now + .seconds(86_400)
            }
        Array(message.text.utf8).withUnsafeBytes { bytes in
            append(bytes, token: token, origin: origin, receivedAt: WallTime(seconds: 0), deadline: deadline)
        }
    }
}

/// An adapter that runs its feeder and then returns, or waits for its cancellation.
struct FedAdapter: Adapter {
    let scenario: SourceScenario
    let feeder: Feeder

    var source: SourceName { scenario.name }
    var features: AdapterFeatures { scenario.features }

    func run(into intake: any Intake) async {
        // The intake is always observed, because every adapter is wrapped in an ObservedAdapter.
        guard let intake = intake as? ObservedIntake else { return }
        await feeder.feed(into: intake)
        guard scenario.kind == .adapter else { return }
        await Watched(false).until { $0 }
    }
}
