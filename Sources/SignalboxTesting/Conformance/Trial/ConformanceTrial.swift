import SignalboxCore

/// One case tried on one subject: the words in which cases are written.
final class ConformanceTrial: Sendable {
    let subject: any ConformanceSubject
    let record: Watched<ConformanceRecord>
    private let numbers = Watched(0)

    init(_ subject: any ConformanceSubject, record: Watched<ConformanceRecord>) {
        self.subject = subject
        self.record = record
    }

    var features: AdapterFeatures { subject.adapter.features }

    func perform(_ testCase: AdapterConformance.Case) async throws {
        switch testCase {
        case .deliverAll: try await deliverAll()
        case .orderPerSource: try await orderPerSource()
        case .concurrentStartAndStop: try await concurrentStartAndStop()
        case .throwingPlugin: try await throwingPlugin()
        case .unknownAction: try await unknownAction()
        case .malformedArrival: try await malformedArrival()
        case .forbiddenSource: try await forbiddenSource()
        case .answersEverySender: try await answersEverySender()
        case .windowFullThenDrained: try await windowFullThenDrained()
        case .drainOnStop: try await drainOnStop()
        case .stopIsIdempotent: try await stopIsIdempotent()
        case .hungPlugin: try await hungPlugin()
        case .abandonedIsNotAcknowledged: try await abandonedIsNotAcknowledged()
        case .memoryBoundedUnderSlowPlugin: try await memoryBoundedUnderSlowPlugin()
        case .repeatWhileRunning: try await repeatWhileRunning()
        case .repeatAfterHandled: try await repeatAfterHandled()
        case .repeatAfterFailed: try await repeatAfterFailed()
        }
    }
}

// MARK: - Messages

extension ConformanceTrial {
    /// A new message; without an action one that cannot be read.
    ///
    /// - Parameter textBytes: how long the text in its body is; `nil` for a short one.
    func message(_ action: ActionName?, textBytes: Int? = nil) -> ConformanceMessage {
        let number = numbers.change { number in
            number += 1
            return number
        }
        let content = textBytes.map { ConformanceBody(number, textBytes: $0) } ?? ConformanceBody(number)
        let body: String
        do {
            body = String(decoding: try BodyWriter.write(content), as: UTF8.self)
        } catch {
            preconditionFailure("the suite's bodies have a JSON form: \(error)")
        }
        // Of four digits each, so that none is a piece of another.
        let id = ActionID(unchecked: Bytes("message-\(1_000 + number)"))
        return ConformanceMessage(id: id, action: action, body: body)
    }

    /// New messages for the plugin that records.
    func messages(_ count: Int) -> [ConformanceMessage] {
        (0..<count).map { _ in message(ConformanceStage.recording) }
    }

    /// The same, every third of them for another action; the last one is recorded.
    func messages(_ count: Int, everyThird action: ActionName?) -> [ConformanceMessage] {
        (0..<count).map { message($0 % 3 == 1 ? action : ConformanceStage.recording) }
            + [message(ConformanceStage.recording)]
    }
}

// MARK: - Runs

extension ConformanceTrial {
    private enum Part: Sendable { case supervisor((any Error)?), body }

    private static let ending = "waiting for the supervisor to end"

    /// Runs a new supervisor while `body` works, stops it gracefully unless that did, and waits for its end.
    func run(
        _ limits: ConformanceLimits = ConformanceLimits(),
        _ body: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) async throws {
        let stage = try makeStage(limits)
        defer {
            stage.slow.open()
            stage.hung.open()
        }
        try await withThrowingTaskGroup(of: Part.self) { group in
            group.addTask { .supervisor(await stage.run()) }
            group.addTask {
                try await body(stage)
                stage.stop()
                self.record.change { $0.begin(ConformanceTrial.ending) }
                return .body
            }
            while let part = try await group.next() {
                guard case .supervisor(let failure) = part else { continue }
                if let failure { found("a run throws nothing", "\(failure)") }
                guard !stage.isStopping else { continue }
                found("a run goes on until it is cancelled", "it ended by itself")
                group.cancelAll()
            }
        }
        record.change { record in
            record.end(ConformanceTrial.ending)
            record.inRun(stage.number) { $0.end() }
        }
    }

    private func makeStage(_ limits: ConformanceLimits) throws -> ConformanceStage {
        let new = ConformanceRun(subject.adapter, batchBound: subject.batchBound)
        let number = record.change { record in
            record.runs.append(new)
            return record.runs.count - 1
        }
        let adapter = WatchedAdapter(adapter: subject.adapter, number: number, record: record)
        return try ConformanceStage(adapter, limits, record: record)
    }

    /// Sends messages and waits for the outcome of the last, which must have an action. As a source keeps its order, all
    /// others were taken before it, and the drain at the run's end sees to them.
    func deliver(_ messages: [ConformanceMessage], to stage: ConformanceStage) async throws {
        guard let last = messages.last?.id.text else { return }
        async let sending: Void = send(messages)
        try await wait("the last of \(messages.count) messages to be settled") { $0.settled.contains(last) }
        try await sending
    }

    /// Sends messages once the adapter's run has begun.
    func send(_ messages: [ConformanceMessage]) async throws {
        guard !messages.isEmpty else { return }
        await record.during("waiting for the adapter's run to begin") {
            _ = await record.until { record in record.runs.last.map { $0.hasBegun } ?? false }
        }
        do {
            try await record.during("sending \(messages.count) messages") { try await subject.send(messages) }
        } catch {
            record.change { $0.sendingFailed(error) }
            throw error
        }
    }

    func wait(_ what: String, until isSatisfied: @escaping @Sendable (ConformanceRecord) -> Bool) async throws {
        try await record.during("waiting for \(what)") {
            let isReached = await record.until { $0.hasSendingFailed || isSatisfied($0) }
            guard isReached, !record.value.hasSendingFailed else { throw CancellationError() }
        }
    }

    func wait(
        _ what: String,
        in stage: ConformanceStage,
        until isSatisfied: @escaping @Sendable (ConformanceRun) -> Bool
    ) async throws {
        try await wait(what) { [number = stage.number] in isSatisfied($0.runs[number]) }
    }

    /// Gives whoever was woken a chance to do wrong before the case goes on. No verdict depends on how far they get.
    func letOthersRun() async {
        for _ in 0..<10 { await Task.yield() }
    }

    func found(_ expected: String, _ seen: String) {
        record.change { $0.found(expected, seen) }
    }
}
