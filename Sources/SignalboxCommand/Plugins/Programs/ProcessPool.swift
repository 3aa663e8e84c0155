import AdapterSupport
import Logging
import SignalboxCore
import Subprocess
import Synchronization

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// The processes of plugins with equal settings. It starts them, starts them again when they end, and gives each call to
/// the process with the fewest. A call waits while each process has as many as it may. Safe to use from any thread.
final class ProcessPool: Sendable {
    fileprivate struct State {
        /// The processes that run, and how many calls each has.
        var channels: [(channel: ProcessChannel, calls: Int)] = []
        /// How many calls a process may have for each plugin.
        var limits: [ActionName: Int] = [:]
        /// The calls that wait for a process, and the number of the one that has waited longest.
        var waiting: [UInt64: CheckedContinuation<ProcessChannel, any Error>] = [:]
        var firstWaiting: UInt64 = 1
        var lastWaiting: UInt64 = 0
        /// How many processes have written a line.
        var ready = 0
        var cancelled: Set<UInt64> = []
        var hasEnded = false
    }

    private let section: ProcessSection
    private let launch: ProgramLaunch
    private let messages: ProgramMessages
    private let logger: Logger
    private let state = Mutex(State())
    private let ready = Promise<Void>()
    private let stop = AsyncStream.makeStream(of: Void.self)

    /// - Parameter endLimit: How long a process has to end after SIGTERM.
    init(_ section: ProcessSection, endLimit: Duration, _ messages: ProgramMessages, logger: Logger) {
        self.section = section
        self.messages = messages
        launch = ProgramLaunch(section.command, endLimit: endLimit)
        // Its lines on stderr may contain anything.
        var logger = logger.withoutSecrets
        logger[metadataKey: "program"] = .string(section.command.program)
        self.logger = logger
    }

    // MARK: - Calls

    /// Calls a process, and waits until one runs if necessary.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for a process, and then for the answer.
    ///   - line: Returns the line for the number of the call.
    /// - Throws: What the process answers, `Outcome.Failure` after the timeout, ``ProgramFailure`` if it ends first, or
    ///   `CancellationError`.
    func call(timeout: Duration, _ line: (UInt64) -> [UInt8]) async throws -> Bytes {
        while true {
            var timeout = timeout
            let free = state.withLock { $0.take() }
            let channel = if let free { free } else { try await next(within: &timeout) }
            defer { release(channel) }
            do {
                return try await channel.call(timeout: timeout, line)
            } catch is ProcessChannel.NotCalled {
                remove(channel)
            }
        }
    }

    /// Sets how many calls a process may have for the plugin of an action.
    func limit(_ action: ActionName, to calls: Int) { state.withLock { $0.limits[action] = calls } }

    private func release(_ channel: ProcessChannel) {
        let assigned = state.withLock { state in
            if let place = state.channels.firstIndex(where: { $0.channel === channel }) {
                state.channels[place].calls -= 1
            }
            return state.assign()
        }
        for (continuation, channel) in assigned { continuation.resume(returning: channel) }
    }

    private func add(_ channel: ProcessChannel) {
        let assigned = state.withLock { state in
            state.channels.append((channel, 0))
            return state.assign()
        }
        for (continuation, channel) in assigned { continuation.resume(returning: channel) }
    }

    private func remove(_ channel: ProcessChannel) {
        state.withLock { $0.channels.removeAll { $0.channel === channel } }
    }

    /// Waits for a process, and subtracts the time of the wait.
    private func next(within timeout: inout Duration) async throws -> ProcessChannel {
        let (began, limit) = (ContinuousClock.now, timeout)
        let result = await withTaskGroup(of: Result<ProcessChannel, any Error>?.self) { group in
            group.addTask { await Result.of { try await self.next() } }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            if let first { return first }
            // It may have been given a process at the same moment, which it must then use.
            if case .success(let channel)?? = await group.next() { return .success(channel) }
            return .failure(Outcome.Failure(noProcessWithin: limit))
        }
        let channel = try result.get()
        timeout = max(.milliseconds(1), timeout - (.now - began))
        return channel
    }

    /// Waits for a process.
    private func next() async throws -> ProcessChannel {
        let number = state.withLock { state in
            state.lastWaiting += 1
            return state.lastWaiting
        }
        defer { if Task.isCancelled { state.withLock { _ = $0.cancelled.remove(number) } } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<ProcessChannel, any Error>? in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    if state.hasEnded { return .failure(ProgramFailure.ended) }
                    if let channel = state.take() { return .success(channel) }
                    state.waiting[number] = continuation
                    // A later one may have been served meanwhile.
                    state.firstWaiting = min(state.firstWaiting, number)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let continuation = state.waiting.removeValue(forKey: number)
                if continuation == nil { state.cancelled.insert(number) }
                return continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    // MARK: - Processes

    /// Keeps the processes running until the task is cancelled or ``end()`` is called, and then ends them.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.stop.stream {} }
            for _ in 0..<section.processes { group.addTask { await self.keepOneRunning() } }
            await group.next()
            group.cancelAll()
        }
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(throwing: ProgramFailure.ended) }
    }

    /// Waits until each process has written a line, at most as long as the settings say.
    func untilReady() async {
        guard let limit = section.startLimit else { return }
        let isReady = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.ready.valueUnlessCancelled() != nil }
            group.addTask { (try? await Task.sleep(for: limit)) == nil }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        if !isReady, !Task.isCancelled {
            logger.warning("the process has written nothing within 'start_limit', \(limit); messages are accepted now")
        }
    }

    private func noteReady() {
        let isLast = state.withLock { state in
            state.ready += 1
            return state.ready == section.processes
        }
        if isLast { ready.set(()) }
    }

    /// Makes ``run()`` return.
    func end() { stop.continuation.finish() }

    private func keepOneRunning() async {
        var delay = section.firstDelay
        while !Task.isCancelled {
            let began = ContinuousClock.now
            let end = await runOne()
            guard !Task.isCancelled else { return }
            // A process that ran for a while has not failed to start.
            if .now - began > section.longestDelay || end.hasAnswered { delay = section.firstDelay }
            let text = end.calls == 0 ? "" : "; \(end.calls) \(end.calls == 1 ? "call" : "calls") failed with it"
            logger.error(
                "\(end.reason)\(text)",
                metadata: ["advice": "it is started again in \(delay); see its lines about stderr"]
            )
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, section.longestDelay)
        }
    }

    private struct End {
        let reason: ProgramFailure
        var calls = 0
        var hasAnswered = false
    }

    /// Runs one process to its end.
    private func runOne() async -> End {
        let pipes: ProcessPipes
        let channel: ProcessChannel
        do throws(SystemResourceError) {
            pipes = try ProcessPipes()
            do throws(SystemResourceError) { channel = try ProcessChannel(pipes) } catch {
                pipes.closeChildEnds()
                throw error
            }
        } catch {
            return End(reason: ProgramFailure("cannot start \(section.command.program): \(error)"))
        }
        let read = Promise<String?>()
        let status = await run(channel, pipes, read)
        remove(channel)
        guard let group = channel.exited() else {
            return End(reason: channel.end(status.failure(lastLine: nil)).reason)
        }
        // Children that it left behind.
        kill(-group, SIGKILL)
        ProgramGroups.shared.remove(group)
        let end = channel.end(status.failure(lastLine: await read.value()))
        return End(reason: end.reason, calls: end.calls, hasAnswered: channel.hasAnswered)
    }

    private func run(
        _ channel: ProcessChannel,
        _ pipes: ProcessPipes,
        _ read: Promise<String?>
    ) async -> Result<TerminationStatus, ProgramFailure> {
        let ends = pipes.childEnds
        do {
            let result = try await Subprocess.run(
                launch.configuration(),
                input: .fileDescriptor(FileDescriptor(rawValue: ends.input), closeAfterSpawningProcess: true),
                output: .fileDescriptor(FileDescriptor(rawValue: ends.output), closeAfterSpawningProcess: true),
                error: .fileDescriptor(FileDescriptor(rawValue: ends.errors), closeAfterSpawningProcess: true)
            ) { execution in
                try start(channel, execution.processIdentifier.value, read)
            }
            return .success(result.terminationStatus)
        } catch let error as SubprocessError {
            return .failure(ProgramFailure(error, section.command.program))
        } catch {
            return .failure(ProgramFailure("cannot start \(section.command.program): \(error)"))
        }
    }

    /// Begins the conversation with a process that has started.
    private func start(_ channel: ProcessChannel, _ group: pid_t, _ read: Promise<String?>) throws {
        let (section, messages, logger) = (section, messages, logger)
        let thread = try OwnedThread {
            read.set(ProcessReader(channel, section, messages, logger, onFirstLine: { [self] in noteReady() }).run())
        }
        thread.detach()
        ProgramGroups.shared.insert(group)
        channel.started(group)
        add(channel)
    }
}

extension ProcessPool.State {
    /// Takes the process with the fewest calls, or returns `nil` if none may have more.
    fileprivate mutating func take() -> ProcessChannel? {
        guard let place = channels.indices.min(by: { channels[$0].calls < channels[$1].calls }) else { return nil }
        guard channels[place].calls < max(1, limits.values.reduce(0, +)) else { return nil }
        channels[place].calls += 1
        return channels[place].channel
    }

    /// Gives waiting calls to processes that may have more, those that have waited longest first.
    fileprivate mutating func assign() -> [(CheckedContinuation<ProcessChannel, any Error>, ProcessChannel)] {
        var assigned: [(CheckedContinuation<ProcessChannel, any Error>, ProcessChannel)] = []
        while !waiting.isEmpty, let channel = take() {
            while waiting[firstWaiting] == nil { firstWaiting += 1 }
            if let first = waiting.removeValue(forKey: firstWaiting) { assigned.append((first, channel)) }
        }
        return assigned
    }
}

extension Result<TerminationStatus, ProgramFailure> {
    /// What the calls in progress fail with.
    fileprivate func failure(lastLine: String?) -> ProgramFailure {
        switch self {
        case .success(.exited(let status)):
            let reason = lastLine.map { ": \($0)" } ?? ""
            return ProgramFailure("the process ended with status \(status)\(reason)", isRetryable: true)
        case .success(.signaled(let number)):
            return ProgramFailure(
                "a signal ended the process: \(String(cString: strsignal(number)))",
                isRetryable: true
            )
        case .failure(let failure): return failure
        }
    }
}

extension Outcome.Failure {
    /// A process does not answer.
    init(noAnswerWithin timeout: Duration) {
        self.init(.timeout, detail: "the program did not answer within \(timeout)")
    }

    fileprivate init(noProcessWithin timeout: Duration) {
        self.init(
            .timeout,
            detail: "no process of the program was free within \(timeout): see the log for why it ended"
        )
    }
}

extension ProgramFailure {
    /// The processes of a plugin have ended for good.
    fileprivate static let ended = ProgramFailure("the processes of the plugin have ended", isRetryable: true)
}
