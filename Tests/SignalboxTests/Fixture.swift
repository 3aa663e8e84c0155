import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting

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

    /// Returns when so many calls have returned that were settled without them. No event tells of it.
    func untilLateReturns(_ count: Int) async {
        while !Task.isCancelled, report.total.lateReturns < count { await Task.yield() }
    }

    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// Makes batches of arrivals from JSON texts, with tokens 0, 1, 2 ...
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

/// A standard envelope.
func message(_ action: String, id: String? = nil, body: String = "{}") -> String {
    let id = id.map { "\"id\":\"\($0)\"," } ?? ""
    return "{\"action\":\"\(action)\",\(id)\"body\":\(body)}"
}
