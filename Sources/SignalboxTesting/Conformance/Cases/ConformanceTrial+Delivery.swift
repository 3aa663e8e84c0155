import SignalboxCore

extension ConformanceTrial {
    /// The longest messages stay below the 65,536 bytes that an adapter takes by default.
    func deliverAll() async throws {
        let lengths = [20: 10_000, 40: 60_000, 60: 10_000, 80: 60_000]
        let messages = (0..<100).map { message(ConformanceStage.recording, textBytes: lengths[$0]) }
        try await run { [self] stage in try await deliver(messages, to: stage) }
        checkEachOnce(messages)
        try await checkNothingComesAgain()
    }

    func orderPerSource() async throws {
        let messages = (0..<300).map { number in
            message(number % 2 == 0 ? ConformanceStage.recording : ConformanceStage.recordingToo)
        }
        try await run(ConformanceLimits(window: 16)) { [self] stage in try await deliver(messages, to: stage) }
        checkEachOnce(messages)
        checkOrder(messages, in: 0)
    }

    func concurrentStartAndStop() async throws {
        // Where what was not acknowledged comes again, messages that the stops interrupt are not lost either.
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
        try await checkNothingComesAgain()
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
        try await checkNothingComesAgain()
    }

    /// Begins a run of the adapter that the case itself cancels, perhaps before it starts.
    private func begin(_ stage: ConformanceStage, isCancelled: Bool = false) -> Task<Void, any Error> {
        Task {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            guard let intake = stage.intake else { return }
            try await stage.adapter.run(into: intake)
        }
    }

    private func end(_ running: Task<Void, any Error>) async throws {
        await record.during("waiting for a cancelled run to return") {
            do { try await running.value } catch { found("a cancelled run throws nothing", "\(error)") }
        }
    }
}
