import Logging
import MQTTPush
import Signalbox
import SignalboxCore

/// One subscription from its start to its exit status.
enum SubscribeProgram {
    /// Receives until enough messages are out, the time has passed, nobody reads, or a signal comes. Its diagnostics are
    /// out when it returns.
    static func status(of request: SubscribeRequest, logger: Logger) async -> CommandStatus {
        let output = StandardOutput()
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let isTerminal = output.isTerminal
        let plugin = MessagePlugin(action: SubscribeRequest.action, count: request.count, output: output) {
            request.line(for: $0, $1, isTerminal: isTerminal)
        } enough: {
            stopper.yield()
        }
        let supervisor: Supervisor
        do {
            supervisor = try makeSupervisor(request, plugin, logger)
        } catch {
            DiagnosticOutput.shared.tell("\(error)")
            await DiagnosticOutput.shared.flush()
            return .unavailable
        }
        let signals = await SignalWatch.begin()
        let timer = Task {
            guard let timeout = request.timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            plugin.close(because: .time)
            stopper.yield()
        }
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        let rate = RateNotes { plugin.shown }
        let end = await session.run(signals, stop: stop) { if request.showsRate { await rate.run() } }
        timer.cancel()
        let result = status(end, await output.finish(), signals.first, plugin, request)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, whatever it waits for.
        withExtendedLifetime(signals) {}
        return result
    }

    private static func makeSupervisor(
        _ request: SubscribeRequest,
        _ plugin: MessagePlugin,
        _ logger: Logger
    ) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = SubscribeRequest.patience
        bounds.holdLimit = SubscribeRequest.patience
        bounds.drainLimit = .seconds(2)
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        try supervisor.register(plugin, from: .source(SubscribeRequest.source))
        try supervisor.add(try MQTTPushAdapter(request.push, logger: logger))
        return supervisor
    }

    private static func status(
        _ end: SupervisorSession.End,
        _ lost: OutputFailure?,
        _ signal: CommandStatus?,
        _ plugin: MessagePlugin,
        _ request: SubscribeRequest
    ) -> CommandStatus {
        if case .failed(let error) = end {
            DiagnosticOutput.shared.tell("\(error)")
            return (error as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
        }
        switch lost {
        case .closed?: return .done
        case let reason?:
            DiagnosticOutput.shared.tell("\(reason)")
            return .outputFailed
        case nil: break
        }
        guard request.hasNeed, plugin.shown < request.needed else { return .done }
        if plugin.closing == .time {
            DiagnosticOutput.shared.tell("\(plugin.shown) of \(request.needed) messages came in time")
            return .timeout
        }
        guard let signal else { return .done }
        DiagnosticOutput.shared.tell("\(plugin.shown) of \(request.needed) messages came before the signal")
        return signal
    }
}
