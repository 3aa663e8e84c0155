import Dispatch
import Logging
import SignalboxCore
import Synchronization

extension Supervisor {
    /// Opens the sources and runs the adapters. The supervisor drains on graceful shutdown, or when all adapters have
    /// ended.
    ///
    /// During a drain, the supervisor accepts no more arrivals. It handles the pending arrivals within the drain limit,
    /// and abandons the rest. The drain ends even if a plugin never returns, and ``report`` then lists that plugin. If such a
    /// plugin runs inline (``PluginOptions/runsInline``), adapters that have not ended by then are left behind.
    ///
    /// If the task is cancelled, the supervisor stops at once and abandons everything that has not been settled. A
    /// supervisor can run only once.
    ///
    /// - Throws:
    ///   - The error of the first adapter that failed, which is thrown after the drain.
    ///   - ``RegistrationError/closed`` if the supervisor is running or has run before.
    public func run() async throws {
        try await run(try open())
    }

    /// Continues ``run()`` after ``open()``. Use the two methods separately if the sources must be open before anything
    /// else starts.
    package func run(_ starts: AsyncStream<SourceStart>) async throws {
        let timer = DispatchTicks(core.clock, every: core.configuration.tick) { self.tick() }
        defer { timer?.stop() }
        let otherClock = timer == nil ? core.clock : nil
        async let _ = runTimer(with: otherClock)
        await shuttingDownWithGroup {
            await withDiscardingTaskGroup { group in
                for await start in starts {
                    group.addTask { await self.run(start) }
                }
                let (targets, pluginFed) = beginDrain()
                if targets.isEmpty, pluginFed.isEmpty { group.cancelAll() }
                await untilSettled()
                for intake in pluginFed {
                    intake.close(stopsAdapter: true)
                    intake.lifecycle.stopAdapter()
                }
                if !pluginFed.isEmpty { await untilSettled() }
                for target in targets { target.stopAdapter() }
                group.cancelAll()
            }
        }
        await core.store?.flush()
        if let failure = finish() { throw failure }
    }

    /// Starts the same graceful shutdown as the service lifecycle does. Repeated calls have no effect. Safe to call
    /// from any thread.
    package func shutDown() {
        state.withLock { $0.starter }.finish()
    }

    /// Registers a closure that is called once when the drain begins, before the first source stops. It must not block.
    package func onDrain(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.drainActions.append(action) }
    }

    /// Starts the supervisor's only run, and opens the sources. The caller must call ``run(_:)`` next.
    ///
    /// - Returns: The adapters to run.
    /// - Throws: ``RegistrationError/closed`` if the supervisor is running or has run before.
    package func open() throws -> AsyncStream<SourceStart> {
        let (starts, intakes) = try state.withLock { state throws -> (AsyncStream<SourceStart>, [SourceIntake]) in
            guard state.phase == .initial, let starts = state.starts else { throw RegistrationError.closed }
            state.phase = .running
            state.starts = nil
            return (starts, state.sources.all)
        }
        // If the task was cancelled before it started, nothing is opened, and the drain abandons the waiting arrivals.
        if !Task.isCancelled { for intake in intakes { intake.open() } }
        return starts
    }

    /// Runs an adapter until it ends or its source is removed.
    private func run(_ start: SourceStart) async {
        let lifecycle = start.intake.lifecycle
        if lifecycle.begin() {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.run(start.adapter, into: start.intake) }
                group.addTask { await lifecycle.waitForStopRequest() }
                await group.next()
                group.cancelAll()
            }
        } else {
            (start.adapter as? any StartAwaitingAdapter)?.skipRun()
        }
        let starter = state.withLock { state -> AsyncStream<SourceStart>.Continuation? in
            guard !state.pluginFed.contains(where: { $0 === start.intake }) else { return nil }
            state.runningAdapters -= 1
            return state.runningAdapters == 0 && lifecycle.endsRun ? state.starter : nil
        }
        start.intake.settler.stop(.adapterEnd)
        starter?.finish()
    }
}

// MARK: - Draining

extension Supervisor {
    /// Closes every intake but those that plugins feed, and stops the adapters of all sources but those that stop last.
    ///
    /// - Returns: The sources that stop last, whose adapters the caller must stop once everything is settled; and those that
    ///   plugins feed, which the caller must close and stop once all others are settled.
    private func beginDrain() -> (targets: [SourceIntake], pluginFed: [SourceIntake]) {
        let limit = TickCount.ticks(in: core.configuration.drainLimit, of: core.configuration.tick)
        let (intakes, last, pluginFed, actions) = state.withLock { state in
            state.phase = .draining
            state.drainEnd = core.now + limit
            let pluginFed = state.pluginFed
            let others = state.sources.all.filter { intake in !pluginFed.contains { $0 === intake } }
            return (others, state.stopsLast, pluginFed, state.drainActions)
        }
        for action in actions { action() }
        let targets = intakes.filter { last.contains($0.source) && $0.lifecycle.isRunning }
        let targetIDs = Set(targets.map(ObjectIdentifier.init))
        for intake in intakes {
            let isTarget = targetIDs.contains(ObjectIdentifier(intake))
            intake.close(stopsAdapter: !isTarget)
            if !isTarget { intake.lifecycle.stopAdapter() }
        }
        core.logger.write(.draining, nil, [.limit: "\(core.configuration.drainLimit)"])
        return (targets, pluginFed)
    }

    /// Waits until every arrival of every closed intake is settled.
    private func untilSettled() async {
        let intakes = state.withLock { state in
            state.everyIntake.filter { intake in
                !state.pluginFed.contains { $0 === intake } || intake.lifecycle.isAdapterStopped
            }
        }
        await withTaskCancellationHandler {
            for intake in intakes { await intake.settler.wait(for: .drain) }
        } onCancel: {
            for intake in intakes { intake.settler.stop(.drain) }
        }
        // A cancelled task has no timer, so this loop abandons the remaining arrivals.
        while Task.isCancelled, intakes.contains(where: { !$0.settler.window.isEmpty }) {
            for lane in lanes.all { lane.abandon(.stop) }
            core.pendingCommits.abandonAll()
            await Task.yield()
        }
        if Task.isCancelled { leaveHungAdapters(at: nil) }
    }

    private func finish() -> (any Error)? {
        let (intakes, failure) = state.withLock { state in
            state.phase = .stopped
            return (state.everyIntake, state.firstFailure)
        }
        for lane in lanes.all { lane.reportUnavailable() }
        for intake in intakes { intake.settler.log.flush() }
        endRemovals()
        core.reportDroppedLetters()
        core.deadLetters.endStreams()
        let report = report
        for running in report.callsStillRunning {
            core.logger.write(.notReturned, nil, [.call: running])
        }
        notifyReportObservers()
        for intake in intakes { intake.forgetLanes() }
        // The lane of a plugin that never returns stays open, so that it can be reported.
        for lane in lanes.all { lanes.retire(lane.entry) }
        return failure
    }
}

// MARK: - Timer

extension Supervisor {
    /// Advances the timer with a clock that is not the system's.
    private func runTimer(with clock: (any Clock<Duration>)?) async {
        guard let clock else { return }
        while (try? await clock.sleep(for: core.configuration.tick)) != nil {
            tick()
        }
    }

    private func notifyReportObservers() {
        let observers = core.middleware.reportObservers
        guard !observers.isEmpty else { return }
        let report = report
        for observer in observers { observer.reported(report) }
    }

    private func tick() {
        let now = core.advance()
        let (intakes, drainEnd) = state.withLock { ($0.sources.all, $0.drainEnd) }
        let isDrainOver = drainEnd.map { now >= $0 } ?? false
        core.reportDroppedLetters(at: now)
        for intake in intakes { intake.tick(now) }
        if now.isMultiple(of: core.ticksBetweenReports) {
            notifyReportObservers()
            if drainEnd == nil { replays?.tick(core) { [self] source in state.withLock { $0.intakes[source] } } }
        }
        // This must come before the lanes wake the retries that are due.
        tickRemovedSources(now)
        for lane in lanes.all {
            lane.tick(now, queuesRetries: !isDrainOver)
            if isDrainOver { lane.abandon(.drain) }
        }
        if isDrainOver { core.pendingCommits.abandonAll() }
        leaveHungAdapters(at: now)
    }
}

/// Delivers the system clock's ticks on a separate dispatch queue. Plugins cannot stop these ticks, even if they block
/// the whole thread pool.
final class DispatchTicks {
    private let timer: any DispatchSourceTimer

    /// Starts the timer immediately.
    ///
    /// - Parameter tick: Called on the queue, one call at a time.
    /// - Returns: `nil` if the clock is not a `ContinuousClock`, in which case the ticks must be timed by the clock
    ///   itself.
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

    /// Stops the timer. A tick in progress may still complete.
    func stop() { timer.cancel() }
}
