import SignalboxCore
import Synchronization

/// Tries one case on one subject, and provides helpers that the cases share.
final class ConformanceTrial: Sendable {
    let subject: any ConformanceSubject
    let record: Watched<ConformanceRecord>
    private let numbers = Atomic<Int>(0)

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
        case .settledInsideSubmit: try await settledInsideSubmit()
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
        case .duplicateWhileRunning: try await duplicateWhileRunning()
        case .duplicateAfterHandled: try await duplicateAfterHandled()
        case .duplicateAfterFailed: try await duplicateAfterFailed()
        }
    }
}

// MARK: - Messages

extension ConformanceTrial {
    /// Creates a message, which is unreadable if `action` is `nil`.
    ///
    /// - Parameter textBytes: The size of the text in the body, in bytes, or `nil` for a short text.
    func message(_ action: ActionName?, textBytes: Int? = nil) -> ConformanceMessage {
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        let content = textBytes.map { ConformanceBody(number, textBytes: $0) } ?? ConformanceBody(number)
        let body: String
        do {
            body = String(decoding: try BodyWriter.write(content), as: UTF8.self)
        } catch {
            preconditionFailure("the suite's bodies must have a JSON form: \(error)")
        }
        // All numbers have four digits, so that no id contains another.
        let id = ActionID(unchecked: Bytes("message-\(1_000 + number)"))
        return ConformanceMessage(id: id, action: action, body: body)
    }

    /// Creates messages for the recording plugin.
    func messages(_ count: Int) -> [ConformanceMessage] {
        (0..<count).map { _ in message(ConformanceStage.recording) }
    }

    /// Creates messages for the recording plugin, except that every third message is for `action`. One more message for
    /// the recording plugin follows.
    func messages(_ count: Int, everyThird action: ActionName?) -> [ConformanceMessage] {
        (0..<count).map { message($0 % 3 == 1 ? action : ConformanceStage.recording) }
            + [message(ConformanceStage.recording)]
    }
}

// MARK: - Runs

extension ConformanceTrial {
    private enum Part: Sendable { case supervisor((any Error)?), body }

    private static let ending = "waiting for the supervisor to end"

    /// Runs a new supervisor during `body`, and waits until the supervisor ends. If `body` has not stopped the
    /// supervisor, it is stopped gracefully.
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
                if let failure { addProblem("a run throws no error", "\(failure)") }
                guard !stage.isStopping else { continue }
                addProblem("a run continues until it is cancelled", "it ended early")
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

    /// Sends messages and waits for the outcome of the last message, which must have an action.
    ///
    /// The source keeps the order, so all other messages were taken before the last message. They are settled by the
    /// drain at the end of the run.
    func deliver(_ messages: [ConformanceMessage], to stage: ConformanceStage) async throws {
        guard let last = messages.last?.id.text else { return }
        async let sending: Void = send(messages)
        try await wait("the last of \(messages.count) messages to be settled") { $0.settled.contains(last) }
        try await sending
    }

    /// Sends messages after the adapter's run has started.
    func send(_ messages: [ConformanceMessage]) async throws {
        guard !messages.isEmpty else { return }
        await record.during("waiting for the adapter's run to start") {
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

    /// Gives tasks that have been woken a chance to do something wrong before the case continues. No verdict depends on
    /// how far these tasks get.
    func letOthersRun() async {
        for _ in 0..<10 { await Task.yield() }
    }

    func addProblem(_ expected: String, _ seen: String) {
        record.change { $0.addProblem(expected, seen) }
    }
}

extension ConformanceTrial {
    /// Checks that each of the messages reached a plugin exactly once, with its body unchanged, and that no other
    /// message reached a plugin.
    func checkEachOnce(_ messages: [ConformanceMessage], since first: Int = 0) {
        let calls = record.value.calls.dropFirst(first)
        let counts = calls.reduce(into: [String: Int]()) { $0[$1.id, default: 0] += 1 }
        let sent = Set(messages.map(\.id.text))
        report("every message reaches its plugin", messages.map(\.id.text).filter { counts[$0] == nil }, "did not")
        report("each message arrives once", messages.map(\.id.text).filter { counts[$0, default: 0] > 1 }, "came again")
        report("only sent messages arrive", counts.keys.filter { !sent.contains($0) }.sorted(), "also arrived")
        let bodies = messages.reduce(into: [String: String]()) { $0[$1.id.text] = $1.body }
        let altered = calls.filter { call in
            guard let body = call.body, let written = try? BodyWriter.write(body) else { return false }
            return bodies[call.id].map { Bytes($0) != written } ?? false
        }
        report("bodies arrive as they were sent", altered.map(\.id), "were altered")
    }

    /// Checks that the calls for each action, and the arrivals taken, are in the order of the messages.
    func checkOrder(_ messages: [ConformanceMessage], in run: Int) {
        let record = record.value
        for action in Set(messages.compactMap(\.action)) {
            let sent = messages.filter { $0.action == action }.map(\.id.text)
            let seen = record.calls.filter { $0.run == run && $0.action == action }.map(\.id)
            reportOrder("plugin \(action) receives messages in the order sent", sent, seen)
        }
        let taken = record.runs[run].taken.compactMap { $0 }
        reportOrder("arrivals are submitted in the order sent", messages.map(\.id.text), taken)
    }

    /// Checks that each message has its expected outcome exactly once. Outcomes are compared by code.
    func checkOutcomes(_ expected: [(message: ConformanceMessage, code: String)]) {
        let outcomes = record.value.outcomes.reduce(into: [String: [String]]()) { outcomes, one in
            if let id = one.id { outcomes[id, default: []].append(one.code) }
        }
        let wrong = expected.filter { outcomes[$0.message.id.text] != [$0.code] }
        report(
            "each message has its expected outcome exactly once",
            wrong.map { "\($0.message.id): \(outcomes[$0.message.id.text] ?? []) instead of \($0.code)" },
            "(wrong outcome)"
        )
    }

    /// Checks that a message that was sent twice has its outcome exactly twice.
    func checkTwice(_ message: ConformanceMessage, _ code: String) {
        let outcomes = record.value.outcomes.filter { $0.id == message.id.text }.map(\.code)
        if outcomes != [code, code] {
            addProblem("a message sent twice has the outcome \(code) twice", "\(message.id): \(outcomes)")
        }
    }

    /// Checks the answer to a message, as received by the remote end.
    func checkAnswer(
        to message: ConformanceMessage,
        _ expected: String,
        _ isExpected: (ConformanceAnswer) -> Bool
    ) async throws {
        let answer = try await record.during("waiting for the answer to \(message.id)") {
            try await subject.answer(to: message.id)
        }
        if !isExpected(answer) { addProblem("the answer to \(message.id) is \(expected)", "\(answer.text)") }
    }

    func checkAnswer(to message: ConformanceMessage, isError code: String) async throws {
        try await checkAnswer(to: message, "an error with code \(code)") { $0 == .error(code: code) }
    }

    /// Checks that the reply is the number from the message's body.
    func checkReply(to message: ConformanceMessage) async throws {
        let number = try Body(json: Bytes(message.body)).decode(ConformanceBody.self).number
        try await checkAnswer(to: message, "the reply \(number)") { answer in
            guard case .reply(let reply?) = answer else { return false }
            return (try? Body(json: reply).decode(Int.self)) == number
        }
    }

    /// Checks that a new run with a new supervisor receives only messages that are sent during that run, including
    /// messages for which no plugin is called.
    func checkNothingIsRedelivered() async throws {
        let before = record.value.calls.count
        let number = record.value.runs.count
        let marker = message(ConformanceStage.recording)
        try await run { [self] stage in try await deliver([marker], to: stage) }
        checkEachOnce([marker], since: before)
        checkOutcomes([(marker, "handled")])
        let others = record.value.outcomes.filter { $0.run == number && $0.id != marker.id.text }
        report(
            "settled messages are not redelivered in the next run",
            others.map { "\($0.id ?? "an unreadable message") (\($0.code))" },
            "were"
        )
    }

    func report(_ expected: String, _ exceptions: [String], _ what: String) {
        guard !exceptions.isEmpty else { return }
        let more = exceptions.count > 5 ? " and \(exceptions.count - 5) more" : ""
        addProblem(expected, "\(exceptions.prefix(5).joined(separator: ", "))\(more) \(what)")
    }

    private func reportOrder(_ expected: String, _ sent: [String], _ seen: [String]) {
        let positions = Dictionary(zip(sent, sent.indices), uniquingKeysWith: { first, _ in first })
        var last = -1
        for id in seen {
            guard let position = positions[id] else { continue }
            if position <= last { return addProblem(expected, "\(id) after \(sent[last])") }
            last = position
        }
    }
}

extension ConformanceAnswer {
    fileprivate var text: String {
        switch self {
        case .reply(let reply): "the reply \(reply.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")"
        case .error(let code): "an error with code \(code)"
        }
    }
}

/// The body of the suite's messages: a number, and text that is easily damaged when it is copied.
struct ConformanceBody: Codable, Sendable, Hashable {
    let number: Int
    let text: String

    init(_ number: Int) {
        self.number = number
        let piece = ["plain", "Gr\u{FC}\u{DF}e", "\"quoted\" \\ /", "line\nbreak\ttab", "\u{1F600}", ""][number % 6]
        text = String(repeating: piece, count: 1 + number % 40)
    }

    /// Creates a body with a text of the given size, which must be at least 20 bytes.
    ///
    /// Almost all bytes are ASCII, so the message stays the same size even if its encoding escapes other characters.
    /// The last bytes are not ASCII, so truncated text may end in the middle of a character.
    init(_ number: Int, textBytes: Int) {
        self.number = number
        let end = " Gr\u{FC}\u{DF}e \u{1F600}"
        text = String(repeating: "p", count: max(0, textBytes - end.utf8.count)) + end
    }
}
