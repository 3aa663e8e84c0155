import Dispatch
import Logging
import ServiceLifecycle
import SignalboxCore
import Synchronization

extension Supervisor {
    /// Opens the sources, runs the adapters, and drains on graceful shutdown or when all adapters have ended.
    ///
    /// Draining takes nothing more, lets what has begun or waits be handled within the drain limit and abandons the rest.
    /// It ends also when a plugin never returns; ``report`` then says which. Cancelling the task stops at once: what is
    /// not settled is abandoned. A supervisor runs once.
    ///
    /// - Throws: the error of the first adapter that failed, after the drain; ``RegistrationError/closed`` when the
    ///   supervisor has run before.
    public func run() async throws {
        try await run(try open())
    }

    /// The rest of ``run()``, after ``open()``: for whoever must know that the run begins before anything else does.
    package func run(_ starts: AsyncStream<SourceStart>) async throws {
        let timer = DispatchTicks(clock, every: core.configuration.tick) { self.tick() }
        defer { timer?.stop() }
        let otherClock = timer == nil ? clock : nil
        async let _ = keepTime(by: otherClock)
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await start in starts {
                    group.addTask { await self.run(start) }
                }
                beginDrain()
                group.cancelAll()
                await untilSettled()
            }
        } onGracefulShutdown: {
            self.shutDown()
        }
        if let failure = finish() { throw failure }
    }

    /// Begins the graceful end of ``run()``, as the graceful shutdown of its service does. Any thread, any number of times.
    package func shutDown() {
        state.withLock { $0.starter }.finish()
    }

    /// Begins the one run and opens the sources; ``run(_:)`` must follow.
    ///
    /// - Returns: the adapters to run.
    /// - Throws: ``RegistrationError/closed`` when the supervisor runs or has run.
    package func open() throws -> AsyncStream<SourceStart> {
        let (starts, intakes) = try state.withLock { state throws -> (AsyncStream<SourceStart>, [SourceIntake]) in
            guard state.phase == .initial, let starts = state.starts else { throw RegistrationError.closed }
            state.phase = .running
            state.starts = nil
            return (starts, state.intakesByName)
        }
        // A task that was cancelled before it began opens nothing: what waits is abandoned by the drain.
        if !Task.isCancelled { for intake in intakes { intake.open() } }
        return starts
    }

    /// Runs an adapter until it ends, or is asked to end as its source is removed.
    private func run(_ start: SourceStart) async {
        let life = start.intake.life
        if life.begin() {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.run(start.adapter, into: start.intake) }
                group.addTask { await life.untilAsked() }
                await group.next()
                group.cancelAll()
            }
        }
        let starter = state.withLock { state -> AsyncStream<SourceStart>.Continuation? in
            state.runningAdapters -= 1
            let ends = !life.isAsked || state.endsWithRemovals
            return state.runningAdapters == 0 && ends ? state.starter : nil
        }
        life.end()
        starter?.finish()
    }

    private func run(_ adapter: any Adapter, into intake: SourceIntake) async {
        do {
            try await adapter.run(into: intake)
            core.logger.write(.sourceEnded, nil, [.source: adapter.source.text])
        } catch {
            core.logger.write(.sourceFailed, Redaction.detail("\(error)"), [.source: adapter.source.text])
            state.withLock { if $0.firstFailure == nil { $0.firstFailure = error } }
        }
    }
}

// MARK: - Draining

extension Supervisor {
    private func beginDrain() {
        let limit = TickCount.ticks(in: core.configuration.drainLimit, of: core.configuration.tick)
        let intakes = state.withLock { state in
            state.phase = .draining
            state.drainEnd = core.now + limit
            return state.intakesByName
        }
        for intake in intakes { intake.close() }
        core.logger.write(.draining, nil, [.limit: "\(core.configuration.drainLimit)"])
    }

    private func untilSettled() async {
        let intakes = state.withLock { $0.everyIntake }
        await withTaskCancellationHandler {
            for intake in intakes { await intake.untilEmpty(.drain) }
        } onCancel: {
            for intake in intakes { intake.stop(.drain) }
        }
        // A cancelled task has no timer any more, so what is left is let go of from here.
        while Task.isCancelled, intakes.contains(where: { !$0.window.isEmpty }) {
            for lane in core.lanes.all { lane.abandon(.stop) }
            await Task.yield()
        }
    }

    private func finish() -> (any Error)? {
        let (intakes, failure) = state.withLock { state in
            state.phase = .stopped
            return (state.everyIntake, state.firstFailure)
        }
        for lane in core.lanes.all { lane.reportUnavailable() }
        for intake in intakes { intake.log.flush() }
        endRemovals()
        core.tellOfDrops()
        core.deadLetters.endStreams()
        let report = report
        for running in report.callsStillRunning {
            core.logger.write(.notReturned, nil, [.call: running])
        }
        tellReport()
        for intake in intakes { intake.forgetLanes() }
        // A lane whose plugin never returns stays, so that it can be reported.
        for lane in core.lanes.all { core.lanes.retire(lane.entry) }
        return failure
    }
}

// MARK: - The timer

extension Supervisor {
    /// Ticks by a clock that is not the system's.
    private func keepTime(by clock: (any Clock<Duration>)?) async {
        guard let clock else { return }
        while (try? await clock.sleep(for: core.configuration.tick)) != nil {
            tick()
        }
    }

    private func tellReport() {
        let observers = core.middleware.reportObservers
        guard !observers.isEmpty else { return }
        let report = report
        for observer in observers { observer.reported(report) }
    }

    private func tick() {
        let now = core.advance()
        let (intakes, drainEnd) = state.withLock { ($0.intakesByName, $0.drainEnd) }
        let isDrainOver = drainEnd.map { now >= $0 } ?? false
        core.tellOfDrops(at: now)
        for intake in intakes { intake.tick(now) }
        if now.isMultiple(of: core.ticksBetweenReports) { tellReport() }
        // Before their lanes are asked to call again what waits for its next attempt.
        tickLeavingSources(now)
        for lane in core.lanes.all {
            lane.tick(now, wakesSleepers: !isDrainOver)
            if isDrainOver { lane.abandon(.drain) }
        }
    }
}

/// The ticks of the system's clock, on a queue of their own: plugins that block every thread of the pool do not stop them.
final class DispatchTicks {
    private let timer: any DispatchSourceTimer

    /// Begins at once.
    ///
    /// - Parameter tick: called on the queue, one call after the other.
    /// - Returns: `nil` when the clock is not the system's continuous one, and only the clock itself can say when.
    init?(_ clock: any Clock<Duration>, every interval: Duration, tick: @escaping @Sendable () -> Void) {
        guard clock is ContinuousClock else { return nil }
        let (seconds, attoseconds) = interval.components
        let nanoseconds = min(Int(clamping: seconds), 86_400) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        let queue = DispatchQueue(label: "signalbox.ticks", qos: .userInitiated)
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds), repeating: .nanoseconds(nanoseconds))
        timer.setEventHandler(handler: tick)
        timer.resume()
    }

    /// No tick begins any more; one may still be in progress.
    func stop() { timer.cancel() }
}
