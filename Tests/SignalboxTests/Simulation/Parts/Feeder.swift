import SignalboxCore
import SignalboxTesting

/// A sink that sends the messages of a source's scenario, and sends abandoned ones again if the source redelivers.
final class Feeder: SettlementSink {
    private struct State: Sendable {
        /// The unsettled messages, by token.
        var inside: [UInt64: Inside] = [:]
        /// The abandoned messages, oldest first, with their tokens.
        var again: [(token: UInt64, message: Int)] = []
        /// The messages that were neither acknowledged nor given up, by token.
        var owed: [UInt64: Int] = [:]
        var lastAcknowledged: Int?
        var tokens: UInt64
        /// The number of feeds that were begun.
        var begun = 0
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
    private let state: Watched<State>

    init(_ scenario: SourceScenario, _ world: SimulationWorld) {
        // The tokens of several runs differ.
        state = Watched(State(tokens: UInt64(world.scenario.journal?.number ?? 0) * 30_000))
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
            state.change { $0.begun += 1 }
            guard await send(feed.messages, into: intake, generation) else { return }
        }
        while await state.until({ $0.isEmpty(generation) || !$0.again.isEmpty }) {
            let again = state.change { state in
                defer { state.again = [] }
                for (token, _) in state.again { state.owed[token] = nil }
                return state.again.map(\.message)
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
                state.owed[state.tokens] = message
                return state.tokens
            }
            batch.append(world.scenario.messages[message], token: token, origin: origin, receivedAt: world.now)
        }
        return batch.take()
    }
}

extension Feeder {
    func mayAcknowledge(_ token: UInt64) {
        guard !world.isDead else { return }
        state.change { state in
            guard let message = state.owed.removeValue(forKey: token) else { return }
            state.lastAcknowledged = message
        }
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        guard !world.isDead else { return }
        var isRedelivered = false
        if case .abandoned = outcome { isRedelivered = scenario.features.contains(.redelivers) }
        state.change { [isRedelivered] state in
            guard let inside = state.inside.removeValue(forKey: token) else { return }
            // What was acknowledged is not sent again.
            guard isRedelivered, state.owed[token] != nil else { return state.owed[token] = nil }
            state.again.append((token, inside.message))
        }
    }

    /// What the source sends after a restart: the messages that were not acknowledged, if it redelivers, and those that it has not
    /// sent yet.
    ///
    /// - Parameter losesAcknowledgement: Whether the source has not learned that its last message was acknowledged.
    func left(losesAcknowledgement: Bool) -> [SourceScenario.Feed] {
        let state = state.value
        var again: [Int] = []
        if scenario.features.contains(.redelivers) {
            again = state.owed.sorted { $0.key < $1.key }.map(\.value)
            if losesAcknowledgement, let last = state.lastAcknowledged { again.insert(last, at: 0) }
        }
        let rest = Array(scenario.feeds.dropFirst(state.begun))
        return again.isEmpty ? rest : [SourceScenario.Feed(messages: again)] + rest
    }

    /// Reads messages of a ``SimulatedStore`` again.
    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for (token, message) in messages.enumerated() {
            message.original.withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: UInt64(token),
                    origin: origin,
                    receivedAt: message.receivedAt,
                    deadline: message.deadline(at: now)
                )
            }
        }
        let arrivals = batch.take()
        for (arrival, message) in zip(arrivals, messages) {
            if let copy = JournalCopy(facts: message.facts) { world.identify(arrival, as: copy) }
        }
        return arrivals
    }
}

extension ArrivalBatch {
    mutating func append(
        _ message: MessageScenario,
        token: UInt64,
        origin: Origin,
        receivedAt: WallTime = WallTime(seconds: 0)
    ) {
        let deadline: ContinuousClock.Instant? =
            switch message.deadline {
            case .none: nil
            case .past: .now
            case .far: .now + .seconds(86_400)
            }
        Array(message.text.utf8).withUnsafeBytes { bytes in
            append(bytes, token: token, origin: origin, receivedAt: receivedAt, deadline: deadline)
        }
    }
}

/// An adapter that runs its feeder and then returns, or waits for its cancellation.
struct FedAdapter: RestoringAdapter {
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

    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] { feeder.restore(messages, at: now) }
}
