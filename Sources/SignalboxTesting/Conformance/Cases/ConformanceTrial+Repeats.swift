import Signalbox
import SignalboxCore

/// The suite gives the ids, so repeats are recognised here whatever the adapter says of the ids of its source.
extension ConformanceTrial {
    private static let recognised = RepeatPolicy.within(RepeatLimits())

    func repeatWhileRunning() async throws {
        let message = message(ConformanceStage.recording)
        let marker = self.message(ConformanceStage.recordingToo)
        try await run(ConformanceLimits(isSlow: true, repeats: Self.recognised)) { [self] stage in
            async let delivery: Void = deliver([message, message, marker], to: stage)
            // It lies behind the repeat and has a lane of its own, so the repeat has been taken while the first runs.
            try await wait("the plugin to begin \(marker.id)") { $0.begun.contains(marker.id.text) }
            await letOthersRun()
            stage.slow.open()
            try await delivery
        }
        try await checkHandledTwice(message, marker)
    }

    func repeatAfterHandled() async throws {
        let message = message(ConformanceStage.recording)
        let marker = self.message(ConformanceStage.recording)
        try await run(ConformanceLimits(repeats: Self.recognised)) { [self] stage in
            try await deliverAndTell(message, to: stage)
            try await deliver([message, marker], to: stage)
        }
        try await checkHandledTwice(message, marker)
    }

    func repeatAfterFailed() async throws {
        let message = message(ConformanceStage.failing)
        let marker = self.message(ConformanceStage.recording)
        try await run(ConformanceLimits(repeats: Self.recognised)) { [self] stage in
            try await deliverAndTell(message, to: stage)
            try await deliver([message, marker], to: stage)
        }
        checkTwice(message, "threw")
        let calls = record.value.calls.count { $0.id == message.id.text }
        if calls != 2 { found("a message that failed reaches its plugin again", "\(calls) calls") }
        if features.contains(.replies) { try await checkAnswer(to: message, isError: "threw") }
        try await checkNothingComesAgain()
    }

    /// Delivers a message and waits until its adapter knows the outcome: only then is one that comes again no repeat of what
    /// runs.
    private func deliverAndTell(_ message: ConformanceMessage, to stage: ConformanceStage) async throws {
        try await deliver([message], to: stage)
        try await wait("the adapter to be told of \(message.id)", in: stage) { $0.hasToldAll }
    }

    private func checkHandledTwice(_ message: ConformanceMessage, _ marker: ConformanceMessage) async throws {
        checkEachOnce([message, marker])
        checkTwice(message, "handled")
        if features.contains(.replies) { try await checkReply(to: message) }
        try await checkNothingComesAgain()
    }
}
