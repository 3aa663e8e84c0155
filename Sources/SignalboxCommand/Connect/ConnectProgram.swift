import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// One connection from its start to its exit status.
enum ConnectProgram {
    /// Receives and sends until enough messages are out, the time has passed, the server closes, nobody reads, or a signal
    /// comes. Its diagnostics are out when it returns.
    static func status(of request: ConnectRequest, logger: Logger) async -> CommandStatus {
        do {
            if let config = request.config { return try await configured(request, config, logger) }
            guard let url = request.url else { throw CommandRefusal(.usage, "say which server: ws://host:port/path") }
            return try await plain(request, to: url, logger)
        } catch let error as WebSocketChatError {
            return await CommandRefusal(.usage, error.detail).told()
        } catch {
            return await CommandRefusal(error).told()
        }
    }
}

// MARK: - Messages as they are

extension ConnectProgram {
    private static func plain(_ request: ConnectRequest, to url: WebSocketURL, _ logger: Logger) async throws
        -> CommandStatus
    {
        let output = StandardOutput()
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let (source, plugin) = try parts(of: request, to: url, output, logger) { stopper.yield() }
        let supervisor = try supervisor(with: plugin, logger)
        try supervisor.add(source)
        let signals = await SignalWatch.begin()
        let timer = Task {
            guard let timeout = request.timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            plugin.close(because: .time)
            stopper.yield()
        }
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        _ = await session.run(signals, stop: stop)
        timer.cancel()
        let judgement = ConnectJudgement(
            request: request,
            end: source.end,
            lost: await output.finish(),
            interruption: plugin.closing == .time ? .timeout : signals.first,
            shown: plugin.shown,
            unsent: source.unsent,
            notHandled: 0
        )
        let status = judgement.told()
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, whatever it waits for.
        withExtendedLifetime(signals) {}
        return status
    }

    /// - Parameter stop: asks the run to end.
    private static func parts(
        of request: ConnectRequest,
        to url: WebSocketURL,
        _ output: StandardOutput,
        _ logger: Logger,
        stop: @escaping @Sendable () -> Void
    ) throws(WebSocketChatError) -> (ConnectSource, MessagePlugin) {
        let source = try ConnectSource(
            request.plainFeed(to: url),
            source: ConnectRequest.source,
            limits: ConnectRequest.limits,
            outgoing: request.outgoing,
            logger: logger,
            answers: nil,
            isOver: { output.isReaderGone },
            stop: stop
        )
        let isTerminal = output.isTerminal
        let plugin = MessagePlugin(action: ConnectRequest.action, count: request.count, output: output) {
            request.line(for: $0, $1, isTerminal: isTerminal)
        } enough: {
            source.close()
            stop()
        }
        return (source, plugin)
    }

    private static func supervisor(with plugin: MessagePlugin, _ logger: Logger) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = ConnectRequest.patience
        bounds.holdLimit = ConnectRequest.patience
        bounds.drainLimit = .seconds(2)
        let supervisor = Supervisor(configuration: bounds, logger: quiet(logger))
        try supervisor.register(plugin, from: .source(ConnectRequest.source))
        return supervisor
    }

    /// How the connection ended is told by the program itself, and not once more by the supervisor.
    private static func quiet(_ logger: Logger) -> Logger {
        var quiet = logger
        if quiet.logLevel >= .notice { quiet.logLevel = .critical }
        return quiet
    }
}

extension ConnectRequest {
    /// What is written for a message, with its newline.
    fileprivate func line(for body: RawBody, _ context: ActionContext, isTerminal: Bool) -> [UInt8] {
        if let raw { return raw.line(Array(body.bytes), isTerminal: isTerminal) }
        let record = FrameRecord(payload: body, context: context)
        return isTerminal ? record.terminalLine : record.jsonLine
    }
}

// MARK: - Messages as actions

extension ConnectProgram {
    private static func configured(_ request: ConnectRequest, _ config: String, _ logger: Logger) async throws
        -> CommandStatus
    {
        let configuration = try ConfigurationFile.read(config, for: .plugins)
        let (name, section, window) = try feed(request.source, in: configuration, file: config)
        let output = StandardOutput()
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let source = try ConnectSource(
            request.configuredFeed(section),
            source: name,
            limits: configuration.limits,
            outgoing: request.outgoing,
            logger: logger,
            answers: { output.offer(AnswerLine($0).line(isTerminal: output.isTerminal)) },
            isOver: { output.isReaderGone }
        ) {
            stopper.yield()
        }
        var run = SingleSourceRun(
            configuration: configuration,
            adapter: source,
            window: window,
            output: output,
            timeout: request.timeout,
            logger: logger
        )
        run.count = request.count
        run.onEnough = { source.close() }
        run.stop = stop
        return try await run.status { report in
            ConnectJudgement(
                request: request,
                end: source.end,
                lost: report.lost,
                interruption: report.interruption,
                shown: report.written,
                unsent: source.unsent,
                notHandled: report.summary.notHandled
            ).told()
        }
    }

    private static func feed(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandRefusal)
        -> (SourceName, FeedSection, WindowLimits)
    {
        let feeds = configuration.sources.compactMap {
            source -> (name: String, value: (SourceName, FeedSection, WindowLimits))? in
            guard case .feed(let section) = source.kind else { return nil }
            return (source.name.text, (source.name, section, source.window))
        }
        let none = "no source is a feed; add one below 'sources', such as feed: { feed: { url: 'wss://host/path' } }"
        return try SourceChoice(kind: "feed", none: none, file: file).one(name, of: feeds)
    }
}
