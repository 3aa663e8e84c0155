import Signalbox
import SignalboxCore

extension ConformanceTrial {
    /// Sends short and long messages. The longest are just below 65,536 bytes, the default limit of an adapter.
    func deliverAll() async throws {
        let lengths = [20: 10_000, 40: 60_000, 60: 10_000, 80: 60_000]
        let messages = (0..<100).map { message(ConformanceStage.recording, textBytes: lengths[$0]) }
        try await run { [self] stage in try await deliver(messages, to: stage) }
        checkEachOnce(messages)
        try await checkNothingIsRedelivered()
    }

    func orderPerSource() async throws {
        let messages = (0..<300).map { number in
            message(number % 2 == 0 ? ConformanceStage.recording : ConformanceStage.recordingToo)
        }
        try await run(ConformanceLimits(window: 16)) { [self] stage in try await deliver(messages, to: stage) }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
    }

    func settledInsideSubmit() async throws {
        let messages = (0..<100).map { _ in message(ConformanceStage.inline) }
        try await run(ConformanceLimits(window: 16)) { [self] stage in try await deliver(messages, to: stage) }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
        if features.contains(.replies) {
            for message in messages { try await checkReply(to: message) }
        }
        try await checkNothingIsRedelivered()
    }

    func concurrentStartAndStop() async throws {
        // A source that redelivers must also redeliver the messages that are interrupted by the stops.
        let early = features.contains(.redelivers) ? messages(20) : []
        for round in 0..<12 {
            try await run(ConformanceLimits(isManual: true)) { [self] stage in
                let running = begin(stage, isCancelled: round == 0)
                if round == 1 { try await send(early) }
                await withTaskGroup { group in
                    for canceller in 1...2 {
                        group.addTask {
                            for _ in 0..<(round * canceller * 4) { await Task.yield() }
                            running.cancel()
                        }
                    }
                }
                try await end(running)
                running.cancel()
            }
        }
        let late = messages(40)
        try await run { [self] stage in try await deliver(late, to: stage) }
        checkEachOnce(early + late)
        try await checkNothingIsRedelivered()
    }

    func stopIsIdempotent() async throws {
        var sent: [ConformanceMessage] = []
        for _ in 0..<2 {
            let messages = messages(10)
            sent += messages
            try await run(ConformanceLimits(isManual: true)) { [self] stage in
                let running = begin(stage)
                try await deliver(messages, to: stage)
                await withTaskGroup { group in
                    for _ in 0..<4 {
                        group.addTask { running.cancel() }
                        group.addTask { stage.stop() }
                    }
                }
                try await end(running)
                running.cancel()
            }
        }
        checkEachOnce(sent)
        try await checkNothingIsRedelivered()
    }

    /// Starts a run of the adapter that the case cancels by itself, possibly before the run has started.
    private func begin(_ stage: ConformanceStage, isCancelled: Bool = false) -> Task<Void, any Error> {
        Task {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            guard let intake = stage.intake else { return }
            try await stage.adapter.run(into: intake)
        }
    }

    private func end(_ running: Task<Void, any Error>) async throws {
        await record.during("waiting for a cancelled run to return") {
            do { try await running.value } catch { addProblem("a cancelled run throws no error", "\(error)") }
        }
    }
}

extension ConformanceTrial {
    func throwingPlugin() async throws {
        try await tryEveryThird(ConformanceStage.failing, becomes: "threw")
    }

    func unknownAction() async throws {
        try await tryEveryThird(ConformanceStage.unknown, becomes: "unknownAction")
    }

    func forbiddenSource() async throws {
        try await tryEveryThird(ConformanceStage.forbidden, becomes: "sourceNotAllowed")
        let calls = record.value.calls.count { $0.action == ConformanceStage.forbidden }
        if calls > 0 { addProblem("a plugin that does not allow the source is never called", "\(calls) calls") }
    }

    func malformedArrival() async throws {
        let messages = messages(30, everyThird: nil)
        try await runInTwoParts(messages)
        let rejected = record.value.outcomes.filter { $0.code == "malformed" }
        let unreadable = messages.filter { $0.action == nil }.map(\.id.text)
        if rejected.count != unreadable.count {
            addProblem("\(unreadable.count) unreadable messages are rejected as malformed", "\(rejected.count)")
        }
        let originals = rejected.compactMap(\.original)
        report(
            "the original bytes of a rejected arrival contain the sent id",
            unreadable.filter { id in !originals.contains { $0.contains(id) } },
            "not found"
        )
        checkEachOnce(messages.filter { $0.action != nil })
        try await checkNothingIsRedelivered()
    }

    func answersEverySender() async throws {
        let kinds: [(action: ActionName?, code: String)] = [
            (ConformanceStage.recording, "handled"), (ConformanceStage.failing, "threw"),
            (ConformanceStage.unknown, "unknownAction"), (ConformanceStage.forbidden, "sourceNotAllowed"),
            (nil, "malformed"), (ConformanceStage.recordingToo, "handled"),
        ]
        let sent = (0..<10).flatMap { _ in kinds.map { (message: message($0.action), code: $0.code) } }
        let unfit = message(ConformanceStage.recording)
        let invalid = ConformanceMessage(id: unfit.id, action: unfit.action, body: "true")
        let last = message(ConformanceStage.recording)
        try await run { [self] stage in
            try await deliver(sent.map(\.message) + [invalid, last], to: stage)
            for (message, code) in sent where code != "handled" {
                try await checkAnswer(to: message, isError: code)
            }
            try await checkAnswer(to: invalid, isError: "invalidBody")
            for message in sent.filter({ $0.code == "handled" }).map(\.message) + [last] {
                try await checkReply(to: message)
            }
        }
    }

    /// Delivers the messages in two parts. The second part shows that the first part did not damage the source.
    private func runInTwoParts(_ messages: [ConformanceMessage]) async throws {
        try await run { [self] stage in
            try await deliver(Array(messages.prefix(15)), to: stage)
            try await deliver(Array(messages.dropFirst(15)), to: stage)
        }
    }

    /// Checks that every third message has the outcome `code`, that all others are handled, and that none is
    /// redelivered.
    private func tryEveryThird(_ action: ActionName, becomes code: String) async throws {
        let messages = messages(30, everyThird: action)
        try await runInTwoParts(messages)
        checkOutcomes(messages.map { ($0, $0.action == action ? code : "handled") })
        checkEachOnce(messages.filter { $0.action == ConformanceStage.recording || code == "threw" })
        try await checkNothingIsRedelivered()
    }
}

/// Cases about duplicates. The suite assigns the ids, so these cases can deduplicate whether or not the adapter
/// declares stable ids.
extension ConformanceTrial {
    private static let recognised = DeduplicationPolicy.within(DeduplicationLimits())

    func duplicateWhileRunning() async throws {
        let message = message(ConformanceStage.recording)
        let marker = self.message(ConformanceStage.recordingToo)
        try await run(ConformanceLimits(isSlow: true, deduplication: Self.recognised)) { [self] stage in
            async let delivery: Void = deliver([message, message, marker], to: stage)
            // The marker follows the duplicate, on another lane. Once the plugin has started the marker, the duplicate
            // has been taken.
            try await wait("the plugin to start \(marker.id)") { $0.begun.contains(marker.id.text) }
            await letOthersRun()
            stage.slow.open()
            try await delivery
        }
        try await checkHandledTwice(message, marker)
    }

    func duplicateAfterHandled() async throws {
        let message = message(ConformanceStage.recording)
        let marker = try await deliverTwice(message)
        try await checkHandledTwice(message, marker)
    }

    func duplicateAfterFailed() async throws {
        let message = message(ConformanceStage.failing)
        _ = try await deliverTwice(message)
        checkTwice(message, "threw")
        let calls = record.value.calls.count { $0.id == message.id.text }
        if calls != 2 { addProblem("a message that failed reaches its plugin again", "\(calls) calls") }
        if features.contains(.replies) { try await checkAnswer(to: message, isError: "threw") }
        try await checkNothingIsRedelivered()
    }

    /// Delivers a message, and delivers it again after its adapter has received the outcome. If the message were sent
    /// again earlier, it could still be treated as a duplicate of the running message.
    ///
    /// - Returns: The message that follows the second delivery.
    private func deliverTwice(_ message: ConformanceMessage) async throws -> ConformanceMessage {
        let marker = self.message(ConformanceStage.recording)
        try await run(ConformanceLimits(deduplication: Self.recognised)) { [self] stage in
            try await deliver([message], to: stage)
            try await wait("the adapter to receive the outcome of \(message.id)", in: stage) { $0.hasAllOutcomes }
            try await deliver([message, marker], to: stage)
        }
        return marker
    }

    private func checkHandledTwice(_ message: ConformanceMessage, _ marker: ConformanceMessage) async throws {
        checkEachOnce([message, marker])
        checkTwice(message, "handled")
        if features.contains(.replies) { try await checkReply(to: message) }
        try await checkNothingIsRedelivered()
    }
}
