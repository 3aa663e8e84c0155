import SignalboxCore

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
                stage.slow.letPass(1)
                try await wait("the slow plugin to handle \(count) messages") { $0.told.count >= count }
            }
            stage.slow.open()
            try await delivery
        }
        let bound = window + subject.batchBound
        let peak = record.value.runs[0].peak
        if peak > bound { found("at most \(bound) arrivals are inside or offered at once", "\(peak)") }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
    }

    /// Waits until the adapter has filled the window and knows it, or until one is inside where it waits for each batch.
    private func untilFull(_ window: Int, _ stage: ConformanceStage) async throws {
        if subject.waitsForEachBatch {
            try await wait("a message to reach the slow plugin") { !$0.begun.isEmpty }
        } else {
            try await wait("the window of \(window) to be full, and a submit cut short or room() asked", in: stage) {
                $0.hasFilled(window)
            }
        }
        await letOthersRun()
    }
}
