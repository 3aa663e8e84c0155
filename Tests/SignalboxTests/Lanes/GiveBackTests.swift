import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

/// Failures whose plugin requests redelivery, and unavailable plugins whose messages are redelivered.
@Suite(.timeLimit(.minutes(10))) struct GiveBackTests {
    private struct DiskFull: RetryableError, CustomStringConvertible {
        let description = "no space left"
        var whenExhausted: RetryExhaustion { .abandon }
    }

    private struct Busy: RetryableError {}

    /// The facts of a message that its source does not redeliver.
    private struct OnceFacts: OriginFacts {
        static let kind = "once"
        var isRedelivered: Bool { false }
    }

    private struct Trial {
        let supervisor: Supervisor
        let intake: any Intake
        let sink = RecordingSink()
        let attempts = EventList<Int>()
        let clock = ManualClock()

        init(
            features: AdapterFeatures = .redelivers,
            retry: RetryPolicy? = nil,
            breaker: CircuitBreakerPolicy? = nil,
            whenUnavailable: RetryExhaustion? = nil,
            _ call: @escaping @Sendable (ActionContext) async throws -> Void = { _ in throw DiskFull() }
        ) throws {
            supervisor = Supervisor.make(clock: clock) { $0.ackDeadline = .seconds(600) }
            var options = PluginOptions<Empty>(retry: retry, circuitBreaker: breaker)
            if let whenUnavailable { options.whenUnavailable = whenUnavailable }
            try supervisor.register(
                Registration("store", as: Empty.self, from: .source("push"), options: options) {
                    [attempts] _, context in
                    attempts.append(context.attempt)
                    try await call(context)
                }
            )
            intake = try supervisor.intake(for: "push", features: features)
        }

        func outcomes(of arrivals: [Arrival]) async throws -> [Outcome] {
            try await supervisor.whileRunning {
                #expect(intake.submit(arrivals, to: sink) == arrivals.count)
                await clock.tick { await sink.untilSettled(arrivals.count) }
            }
            return settled
        }

        /// The outcomes so far, in token order.
        var settled: [Outcome] { sink.outcomes.sorted { $0.key < $1.key }.flatMap(\.value) }
    }

    /// Returns messages that their source does not redeliver.
    private static func sentOnce(_ count: Int) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: OnceFacts())
        for token in 0..<count {
            Array(message("store").utf8).withUnsafeBytes { bytes in
                batch.append(bytes, token: UInt64(token), origin: origin, receivedAt: WallTime(seconds: 1_000))
            }
        }
        return batch.take()
    }

    /// Returns messages that their source redelivers.
    private static func sentAgain(_ count: Int) -> [Arrival] {
        arrivals(Array(repeating: message("store"), count: count))
    }

    @Test func aMessageIsAbandonedAfterItsLastAttempt() async throws {
        let trial = try Trial(retry: RetryPolicy(attempts: 3))
        let outcomes = try await trial.outcomes(of: arrivals([message("store")]))
        #expect(outcomes == [.abandoned(.givenBack("threw: no space left"))])
        #expect(outcomes.map(\.code) == ["givenBack"])
        #expect(trial.attempts.all == [1, 2, 3])
        #expect(trial.sink.acknowledged.isEmpty)
        #expect(trial.supervisor.deadLetters.total == 0)
        #expect(trial.supervisor.report.total.abandoned == 1)
    }

    @Test func withoutRedeliveryAFailureIsADeadLetter() async throws {
        let trial = try Trial(features: [])
        let outcomes = try await trial.outcomes(of: arrivals([message("store")]))
        #expect(outcomes.map(\.name) == ["failed"])
        #expect(trial.supervisor.deadLetters.total == 1)
    }

    @Test func aMessageSentOnceIsADeadLetter() async throws {
        let trial = try Trial()
        let outcomes = try await trial.outcomes(of: Self.sentOnce(1))
        #expect(outcomes.map(\.name) == ["failed"])
        #expect(trial.sink.acknowledged == [0])
        #expect(trial.supervisor.deadLetters.total == 1)
    }

    @Test func aFailureWithoutAPreferenceIsADeadLetter() async throws {
        let trial = try Trial(retry: RetryPolicy(attempts: 2)) { _ in throw Busy() }
        let outcomes = try await trial.outcomes(of: arrivals([message("store")]))
        #expect(outcomes.map(\.name) == ["failed"])
        #expect(trial.supervisor.deadLetters.total == 1)
    }

    @Test func aThrownFailureCanRequestRedelivery() async throws {
        let failure = Outcome.Failure(.threw, detail: "gone", isRetryable: false, whenExhausted: .abandon)
        let trial = try Trial { _ in throw failure }
        let outcomes = try await trial.outcomes(of: arrivals([message("store")]))
        #expect(outcomes == [.abandoned(.givenBack("threw: gone"))])
    }

    /// An open breaker would turn later arrivals into dead letters.
    @Test func givenBackFailuresDoNotOpenTheCircuitBreaker() async throws {
        let trial = try Trial(breaker: CircuitBreakerPolicy(failures: 1, openFor: .seconds(600)))
        let outcomes = try await trial.outcomes(of: arrivals([message("store"), message("store")]))
        #expect(outcomes.map(\.code) == ["givenBack", "givenBack"])
        #expect(trial.attempts.all.count == 2)
    }

    @Test func deduplicationDoesNotBlockTheRedelivery() async throws {
        let calls = EventList<Int>()
        let trial = try Trial(features: [.redelivers, .stableIDs]) { context in
            calls.append(context.attempt)
            if calls.all.count == 1 { throw DiskFull() }
        }
        let arrival = message("store", id: "7")
        try await trial.supervisor.whileRunning {
            #expect(await trial.intake.deliver(arrivals([arrival])).map(\.code) == ["givenBack"])
            #expect(await trial.intake.deliver(arrivals([arrival])) == [.handled(reply: nil)])
        }
        #expect(trial.attempts.all.count == 2)
    }

    @Test func aFailedBatchIsGivenBackExceptRejectedActions() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration(CollectingPlugin(failure: DiskFull()), from: .source("push")))
        let intake = try supervisor.intake(for: "push", features: .redelivers)
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals(["1", "{}", "2"].map { message("collect", body: $0) }))
            #expect(outcomes.map(\.code) == ["givenBack", "invalidBody", "givenBack"])
        }
    }

    /// One fault affects every message, and a line for each would bury all others.
    @Test func givenBackMessagesAreLoggedOncePerMinuteAndAtTheEnd() async throws {
        let (lines, clock) = (EventList<LoggedLine>(), ManualClock())
        var configuration = SupervisorConfiguration()
        configuration.logLinesPerSecond = 1_000
        let logger = Logger(label: "test") { _ in LoggedLines(lines) }
        let supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        try supervisor.register(
            Registration("store", as: Empty.self, from: .source("push")) { _, _ in throw DiskFull() }
        )
        let intake = try supervisor.intake(for: "push", features: .redelivers)
        try await supervisor.whileRunning {
            for _ in 1...5 { _ = await intake.deliver(arrivals([message("store")])) }
            #expect(lines.all.filter { $0.message == LogKind.givenBack.text }.count == 1)
            await clock.tick(600)
            _ = await intake.deliver(arrivals([message("store")]))
            #expect(lines.all.filter { $0.message == LogKind.givenBack.text }.count == 2)
            _ = await intake.deliver(arrivals([message("store")]))
        }
        let reported = lines.all.filter { $0.message == LogKind.givenBack.text }
        #expect(reported.count == 3)
        #expect(!lines.all.contains { $0.message.hasPrefix(LogKind.abandoned.text) })
    }

    // MARK: - Unavailable plugins

    /// A reason why a message is not given back although its plugin is unavailable.
    enum Obstacle: CaseIterable {
        /// The option has its default value.
        case option
        /// The source does not redeliver.
        case source
        /// The source does not redeliver this message.
        case message
    }

    private static func trial(
        _ obstacle: Obstacle?,
        breaker: CircuitBreakerPolicy? = nil,
        _ call: @escaping @Sendable (ActionContext) async throws -> Void
    ) throws -> Trial {
        let features: AdapterFeatures = obstacle == .source ? [] : .redelivers
        let option: RetryExhaustion? = obstacle == .option ? nil : .abandon
        return try Trial(features: features, breaker: breaker, whenUnavailable: option, call)
    }

    private static func sent(_ count: Int, _ obstacle: Obstacle?) -> [Arrival] {
        obstacle == .message ? sentOnce(count) : sentAgain(count)
    }

    /// Settles three messages of a plugin that does not return: the message of its call, one that waits behind it, and
    /// one submitted after the timeout.
    private static func stall(_ obstacle: Obstacle?) async throws -> Trial {
        let gate = Gate()
        defer { gate.open() }
        let trial = try Self.trial(obstacle) { _ in await gate.pass() }
        let messages = sent(3, obstacle)
        try await trial.supervisor.whileRunning {
            #expect(trial.intake.submit(Array(messages.prefix(2)), to: trial.sink) == 2)
            await gate.untilArrived(1)
            await trial.clock.tick { await trial.sink.untilSettled(2) }
            #expect(trial.intake.submit(Array(messages.suffix(1)), to: trial.sink) == 1)
            await trial.sink.untilSettled(3)
        }
        #expect(trial.attempts.all == [1])
        return trial
    }

    /// Settles two messages of a plugin whose circuit breaker opens at the first one.
    private static func openBreaker(_ obstacle: Obstacle?) async throws -> Trial {
        let policy = CircuitBreakerPolicy(failures: 1, openFor: .seconds(600))
        let trial = try Self.trial(obstacle, breaker: policy) { _ in throw Busy() }
        let messages = sent(2, obstacle)
        try await trial.supervisor.whileRunning {
            #expect(trial.intake.submit(Array(messages.prefix(1)), to: trial.sink) == 1)
            await trial.sink.untilSettled(1)
            #expect(trial.intake.submit(Array(messages.suffix(1)), to: trial.sink) == 1)
            await trial.sink.untilSettled(2)
        }
        #expect(trial.attempts.all == [1])
        return trial
    }

    @Test func messagesOfAStalledPluginAreGivenBackOnRequest() async throws {
        let trial = try await Self.stall(nil)
        let late = Outcome.Abandonment.givenBack("timeout: plugin store did not return within \(Duration.seconds(3))")
        let behind = Outcome.Abandonment.givenBack("unavailable: an earlier call of plugin store has not returned")
        #expect(trial.settled == [.abandoned(late), .abandoned(behind), .abandoned(behind)])
        #expect(trial.sink.acknowledged.isEmpty)
        #expect(trial.supervisor.deadLetters.total == 0)
        #expect(trial.supervisor.report.total.givenBack == 3)
    }

    @Test(arguments: Obstacle.allCases)
    func messagesOfAStalledPluginAreOtherwiseDeadLetters(obstacle: Obstacle) async throws {
        let trial = try await Self.stall(obstacle)
        #expect(trial.settled.map(\.name) == ["failed", "rejected", "rejected"])
        #expect(trial.settled.map(\.code) == ["timeout", "unavailable", "unavailable"])
        #expect(trial.sink.acknowledged.sorted() == [0, 1, 2])
        #expect(trial.supervisor.deadLetters.total == 3)
        #expect(trial.supervisor.report.total.givenBack == 0)
    }

    /// The failure that opens the breaker is a dead letter, because its error decides and not the option.
    @Test func messagesRefusedByAnOpenBreakerAreGivenBackOnRequest() async throws {
        let trial = try await Self.openBreaker(nil)
        #expect(trial.settled.map(\.name) == ["failed", "abandoned"])
        #expect(trial.settled.map(\.code) == ["threw", "givenBack"])
        #expect(trial.sink.acknowledged == [0])
        #expect(trial.supervisor.deadLetters.total == 1)
        #expect(trial.supervisor.report.total.givenBack == 1)
    }

    @Test(arguments: Obstacle.allCases)
    func messagesRefusedByAnOpenBreakerAreOtherwiseDeadLetters(obstacle: Obstacle) async throws {
        let trial = try await Self.openBreaker(obstacle)
        #expect(trial.settled.map(\.name) == ["failed", "rejected"])
        #expect(trial.settled.map(\.code) == ["threw", "unavailable"])
        #expect(trial.sink.acknowledged == [0, 1])
        #expect(trial.supervisor.deadLetters.total == 2)
        #expect(trial.supervisor.report.total.givenBack == 0)
    }

    @Test func otherRejectionsRemainDeadLetters() async throws {
        let trial = try Trial(whenUnavailable: .abandon)
        let late = arrivals(deadline: ContinuousClock.now - .seconds(1), [message("store")])
        let outcomes = try await trial.outcomes(of: late)
        #expect(outcomes.map(\.code) == ["expired"])
        #expect(trial.attempts.all.isEmpty)
        #expect(trial.supervisor.deadLetters.total == 1)
    }
}
