import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport

@testable import Signalbox

struct TestFacts: OriginFacts {
    static let kind = "test"
    var label = ""
}

struct Empty: Codable, Sendable {}

struct Loading: Codable, Sendable, Hashable {
    let isShow: Bool
}

extension Supervisor {
    static func make(
        clock: any Clock<Duration> = ContinuousClock(),
        _ configure: (inout SupervisorConfiguration) -> Void = { _ in }
    ) -> Supervisor {
        var configuration = clock is ContinuousClock ? SupervisorConfiguration.patient : SupervisorConfiguration()
        configure(&configuration)
        return Supervisor(configuration: configuration, logger: quiet, clock: clock)
    }

    /// Waits until `count` calls have returned after they were settled. Polls, because no event reports a late return.
    func untilLateReturns(_ count: Int) async {
        while !Task.isCancelled, report.total.lateReturns < count { await Task.yield() }
    }

    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// Returns a batch of arrivals made from JSON texts, with consecutive tokens from `firstToken`.
func arrivals(
    from source: SourceName = "push",
    label: String = "",
    firstToken: UInt64 = 0,
    deadline: ContinuousClock.Instant? = nil,
    _ messages: [String]
) -> [Arrival] {
    var batch = ArrivalBatch(pool: ArrivalPool())
    let origin = Origin(source: source, facts: TestFacts(label: label))
    for (position, message) in messages.enumerated() {
        Array(message.utf8).withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: firstToken + UInt64(position),
                origin: origin,
                receivedAt: WallTime(seconds: 1_000),
                deadline: deadline
            )
        }
    }
    return batch.take()
}

/// Returns a message in the standard envelope.
func message(_ action: String, id: String? = nil, body: String = "{}") -> String {
    let id = id.map { "\"id\":\"\($0)\"," } ?? ""
    return "{\"action\":\"\(action)\",\(id)\"body\":\(body)}"
}

struct TestError: Error {}

/// Passes one action through a middleware, as a lane does.
func call(
    _ middleware: any Middleware,
    plugin: ActionName,
    action: String? = nil,
    facts: (any OriginFacts)? = nil,
    attempt: Int = 1,
    _ work: @escaping @Sendable (ActionContext) async -> Outcome
) async -> Outcome {
    let arrival = arrival(message(action ?? plugin.text, id: "m-1"), facts: facts)
    let context = ActionContext(arrival: arrival, host: nil, attempt: attempt)
    return await middleware.handle(context, next: MiddlewareNext([], plugin: plugin, call: work))
}

/// Returns the value that observers receive for one arrival.
func settled(
    _ plugin: ActionName?,
    _ outcome: Outcome,
    attempts: Int,
    isDuplicate: Bool = false,
    isOutcomeOfAttempt: Bool = false,
    facts: (any OriginFacts)? = nil,
    _ text: String? = nil
) -> SettledArrival {
    SettledArrival(
        arrival: arrival(text ?? message(plugin?.text ?? "nobody", id: "m-1"), facts: facts),
        plugin: plugin,
        outcome: outcome,
        attempts: attempts,
        isDuplicate: isDuplicate,
        isOutcomeOfAttempt: isOutcomeOfAttempt
    )
}

private func arrival(_ text: String, facts: (any OriginFacts)?) -> Arrival {
    var batch = ArrivalBatch(pool: ArrivalPool())
    let origin = Origin(source: "push", facts: facts ?? TestFacts())
    Array(text.utf8).withUnsafeBytes { bytes in
        batch.append(bytes, token: 0, origin: origin, receivedAt: WallTime(seconds: 1_000), deadline: nil)
    }
    return batch.take()[0]
}

/// The parts of one log line.
struct LoggedLine: Sendable {
    let level: Logger.Level
    let message: String
    let fields: Set<String>
}

/// A log handler that stores the parts of each line, at every level.
struct LoggedLines: LogHandler {
    let lines: EventList<LoggedLine>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(_ lines: EventList<LoggedLine>) {
        self.lines = lines
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = Set(metadata.keys).union((event.metadata ?? [:]).keys)
        lines.append(LoggedLine(level: event.level, message: "\(event.message)", fields: fields))
    }
}
