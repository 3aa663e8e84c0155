import SignalboxCore

extension ConformanceTrial {
    func drainOnStop() async throws {
        let window = 4
        let messages = messages(window + 2)
        try await run(ConformanceLimits(window: window, isSlow: true)) { [self] stage in
            async let sending: Void = send(messages)
            try await untilInside(subject.waitsForEachBatch ? 1 : window, stage)
            stage.stop()
            try await untilStopping(stage)
            stage.slow.open()
            try await wait("the run to return", in: stage) { $0.hasReturned }
            try? await sending
        }
        checkWhatWasTaken()
        let handled = Set(record.value.calls.map(\.id))
        if features.contains(.replies) {
            for message in messages {
                if handled.contains(message.id.text) {
                    try await checkReply(to: message)
                } else if !features.contains(.redelivers) {
                    try await checkAbandonment(of: message)
                }
            }
        }
        guard features.contains(.redelivers) else { return }
        let marker = self.messages(1)
        try await run { [self] stage in try await deliver(marker, to: stage) }
        checkEachOnce(messages + marker)
    }

    func hungPlugin() async throws {
        let before = [message(ConformanceStage.recording), message(ConformanceStage.hanging)]
        let after = [
            message(ConformanceStage.hanging), message(ConformanceStage.recordingToo),
            message(ConformanceStage.recording),
        ]
        try await run(ConformanceLimits(timeout: .seconds(1))) { [self] stage in
            async let sending: Void = send(before)
            try await wait("the plugin to hang") { $0.begun.contains(before[1].id.text) }
            await stage.clock.tick(12)
            try await wait("the timeout") { $0.settled.contains(before[1].id.text) }
            try await sending
            try await deliver(after, to: stage)
        }
        let codes = ["handled", "timeout", "unavailable", "handled", "handled"]
        checkOutcomes(zip(before + after, codes).map { ($0, $1) })
        if features.contains(.replies) {
            try await checkAnswer(to: before[1], isError: "timeout")
            try await checkAnswer(to: after[0], isError: "unavailable")
            try await checkReply(to: after[2])
        }
        try await checkNothingIsRedelivered()
    }

    func abandonedIsNotAcknowledged() async throws {
        try await abandon { [self] stage in
            stage.stop()
            try await untilStopping(stage)
            try await stage.clock.tick {
                try await wait("the run to return after the drain limit", in: stage) { $0.hasEnded }
            }
        }
        try await abandon { [self] stage in
            stage.stopImmediately()
            try await wait("the run to return after an immediate stop", in: stage) { $0.hasEnded }
        }
    }

    /// Handles some messages, abandons others, and checks which messages are redelivered in the next run.
    private func abandon(_ stop: @escaping @Sendable (ConformanceStage) async throws -> Void) async throws {
        let handled = messages(3)
        let abandoned = [message(ConformanceStage.hanging), message(ConformanceStage.hanging)]
        try await run(ConformanceLimits(window: 8)) { [self] stage in
            try await deliver(handled, to: stage)
            async let sending: Void = send(abandoned)
            try await wait("the plugin to hang") { $0.begun.contains(abandoned[0].id.text) }
            // An arrival that has not been taken is not abandoned, and may still arrive in the next run.
            try await untilInside(subject.submitsWhileOneRuns ? abandoned.count : 1, stage)
            try await stop(stage)
            try? await sending
        }
        if record.value.runs.last.map({ $0.abandoned }) == 0 { addProblem("hung messages are abandoned", "none was") }
        // Messages that are redelivered are answered in the next run.
        if features.contains(.replies) && !features.contains(.redelivers) {
            for message in abandoned { try await checkAbandonment(of: message) }
        }
        let before = record.value.calls.count
        let marker = messages(1)
        try await run(ConformanceLimits(hangs: false)) { [self] stage in try await deliver(marker, to: stage) }
        checkEachOnce((features.contains(.redelivers) ? abandoned : []) + marker, since: before)
    }

    /// Checks that the sender is notified that its message has been abandoned.
    private func checkAbandonment(of message: ConformanceMessage) async throws {
        try await checkAnswer(to: message, "an error with code drain or stop") { answer in
            [.error(code: "drain"), .error(code: "stop")].contains(answer)
        }
    }

    private func untilInside(_ count: Int, _ stage: ConformanceStage) async throws {
        try await wait("\(count) arrivals to be unsettled", in: stage) { $0.unsettled >= count }
    }

    private func untilStopping(_ stage: ConformanceStage) async throws {
        try await wait("a stop request", in: stage) { $0.isStopRequested }
        // Gives an adapter that returns too early the time to do so. A correct adapter is not affected.
        _ = await TimeLimit.within(.milliseconds(50)) { [record, number = stage.number] in
            await record.until { $0.runs[number].hasReturned }
        } late: {
            true
        }
    }

    /// Checks that every arrival that was taken was handled and not abandoned, because the drain had enough time.
    private func checkWhatWasTaken() {
        let codes = record.value.outcomes.map(\.code)
        let others = codes.filter { $0 != "handled" }
        if !others.isEmpty { addProblem("messages taken before the stop are handled", others.joined(separator: ", ")) }
    }
}

extension ConformanceTrial {
    func windowFullThenDrained() async throws {
        let messages = messages(120)
        try await run(ConformanceLimits(window: 8, isSlow: true)) { [self] stage in
            async let delivery: Void = deliver(messages, to: stage)
            try await untilFull(8, stage)
            stage.slow.open()
            try await delivery
        }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
    }

    func memoryBoundedUnderSlowPlugin() async throws {
        let window = 16
        let messages = messages(window * 12)
        try await run(ConformanceLimits(window: window, isSlow: true)) { [self] stage in
            async let delivery: Void = deliver(messages, to: stage)
            try await untilFull(window, stage)
            for count in 1...window * 3 {
                stage.slow.admit(1)
                try await wait("the slow plugin to handle \(count) messages") { $0.outcomes.count >= count }
            }
            stage.slow.open()
            try await delivery
        }
        let bound = window + subject.batchBound
        let peak = record.value.runs[0].peak
        if peak > bound { addProblem("at most \(bound) arrivals are unsettled or offered at once", "\(peak)") }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
    }

    /// Waits until the adapter has filled the window. If the adapter waits for each batch, this method only waits until
    /// one message is running.
    private func untilFull(_ window: Int, _ stage: ConformanceStage) async throws {
        if subject.waitsForEachBatch {
            try await wait("a message to reach the slow plugin") { !$0.begun.isEmpty }
        } else {
            try await wait("the window of \(window) to be full, and a submit cut short or room() called", in: stage) {
                $0.hasFilled(window)
            }
        }
        await letOthersRun()
    }
}
