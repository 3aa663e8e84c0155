import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// The `connect` command, from start to exit status.
enum ConnectProgram {
    /// Receives and sends until enough messages are written, the timeout expires, the server closes, stdout is closed,
    /// or a signal arrives. All diagnostics are written when it returns.
    static func status(of request: ConnectRequest, logger: Logger) async -> CommandStatus {
        do {
            if let config = request.config { return try await configured(request, config, logger) }
            guard let url = request.url else {
                throw CommandFailure(.usage, "there is no server; add a URL: ws://host:port/path")
            }
            return try await plain(request, to: url, logger)
        } catch let error as WebSocketChatError {
            return await CommandFailure(.usage, error.detail).report()
        } catch {
            return await CommandFailure(error).report()
        }
    }
}

// MARK: - Plain messages

extension ConnectProgram {
    private static func plain(_ request: ConnectRequest, to url: WebSocketURL, _ logger: Logger) async throws
        -> CommandStatus
    {
        let output = StandardOutput()
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let (source, plugin) = try parts(of: request, to: url, output, logger) { stopper.yield() }
        let supervisor = try supervisor(with: plugin, logger)
        try supervisor.add(source)
        let signals = await WatchedSignals.begin()
        let timer = Task {
            guard let timeout = request.timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            plugin.close(because: .timeout)
            stopper.yield()
        }
        let session = ServiceSession(supervisor: supervisor, output: output, logger: logger)
        _ = await session.run(signals, stop: stop)
        timer.cancel()
        let result = ConnectResult(
            request: request,
            end: source.end,
            lost: await output.finish(),
            interruption: plugin.stopReason == .timeout ? .timeout : signals.first,
            shown: plugin.shown,
            unsent: source.unsent,
            notHandled: 0
        )
        let status = result.report()
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, regardless of what it waits for.
        withExtendedLifetime(signals) {}
        return status
    }

    /// - Parameter stop: Requests the end of the run.
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
            onAnswer: nil,
            discardsMessages: { output.isReaderGone },
            stop: stop
        )
        let isTerminal = output.isTerminal
        let plugin = MessagePlugin(action: ConnectRequest.action, count: request.count, output: output) {
            request.line(for: $0, $1, isTerminal: isTerminal)
        } onCountReached: {
            source.close()
            stop()
        }
        return (source, plugin)
    }

    private static func supervisor(with plugin: MessagePlugin, _ logger: Logger) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = ConnectRequest.outputTimeout
        bounds.ackDeadline = ConnectRequest.outputTimeout
        bounds.drainLimit = .seconds(2)
        let supervisor = Supervisor(configuration: bounds, logger: quiet(logger))
        try supervisor.register(Registration(plugin, from: .source(ConnectRequest.source)))
        return supervisor
    }

    /// Silences the supervisor's warnings, because the program itself reports how the connection ended.
    private static func quiet(_ logger: Logger) -> Logger {
        var quiet = logger
        if quiet.logLevel >= .notice { quiet.logLevel = .critical }
        return quiet
    }
}

extension ConnectRequest {
    /// Returns the output for a message, with its newline.
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
            onAnswer: { output.offer(AnswerLine($0).line(isTerminal: output.isTerminal)) },
            discardsMessages: { output.isReaderGone }
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
        run.onCountReached = { source.close() }
        run.stop = stop
        return try await run.status { report in
            ConnectResult(
                request: request,
                end: source.end,
                lost: report.lost,
                interruption: report.interruption,
                shown: report.written,
                unsent: source.unsent,
                notHandled: report.summary.notHandled
            ).report()
        }
    }

    private static func feed(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandFailure)
        -> (SourceName, FeedSection, WindowLimits)
    {
        let feeds = configuration.sources.compactMap {
            source -> (name: String, value: (SourceName, FeedSection, WindowLimits))? in
            guard case .feed(let section) = source.kind else { return nil }
            return (source.name.text, (source.name, section, source.window))
        }
        let none = "there is no feed; add one below 'sources', such as feed: { feed: { url: 'wss://host/path' } }"
        return try SourceChoice(kind: "feed", none: none, file: file).one(name, of: feeds)
    }
}

/// The result of a connection, and the exit status it leads to.
struct ConnectResult {
    let request: ConnectRequest
    /// How the feed ended.
    let end: OrderedSource.End
    /// The reason output was lost, if any.
    let lost: OutputFailure?
    /// The exit status of the signal or timeout that stopped the run, if any.
    let interruption: CommandStatus?
    /// The number of messages written.
    let shown: Int
    /// The number of lines that could not be sent.
    let unsent: Int
    /// The number of messages that were not handled.
    let notHandled: Int

    private var isFulfilled: Bool { shown >= request.requiredCount }

    /// Reports the result on stderr.
    ///
    /// - Returns: The exit status.
    func report() -> CommandStatus {
        let (status, lines) = verdict
        for line in lines { DiagnosticOutput.shared.report(line) }
        return status
    }

    /// The exit status and the lines for stderr.
    var verdict: (status: CommandStatus, lines: [String]) {
        switch lost {
        case .closed?: return (.done, [])
        case let reason?: return (.outputFailed, ["\(reason)"])
        case nil: break
        }
        // After enough messages, the reason for the end is irrelevant.
        if request.count != nil, isFulfilled { return deliveryVerdict }
        if case .failed(let error) = end {
            return (ConnectResult.status(of: error), [(error as? WebSocketChatError)?.detail ?? "\(error)"])
        }
        let received = "\(shown) of \(request.requiredCount) messages received"
        switch interruption {
        case .timeout?:
            let time = request.timeout.map { " after \(DurationText.text($0))" } ?? ""
            return isFulfilled ? deliveryVerdict : (.timeout, ["timed out\(time): \(received)"])
        case let signal?:
            return !request.hasSuccessCondition || isFulfilled
                ? deliveryVerdict : (signal, ["ended by a signal: \(received)"])
        case nil: break
        }
        guard request.count != nil, case .complete = end else { return deliveryVerdict }
        return (.notAsExpected, ["the server closed the connection: \(received)"])
    }

    /// The result if nothing else is wrong. Unsent lines were reported individually.
    private var deliveryVerdict: (status: CommandStatus, lines: [String]) {
        var lines: [String] = []
        if notHandled > 0 { lines.append("messages that were not handled: \(notHandled)") }
        return (unsent + notHandled > 0 ? .notAsExpected : .done, lines)
    }

    private static func status(of error: any Error) -> CommandStatus {
        switch (error as? WebSocketChatError)?.disconnectReason {
        case .refused?: .refused
        case .tlsFailed?: .notSecured
        case .protocolViolation?: .protocolBroken
        case .closed?: .closedWithError
        case .unreachable?, .notPrepared?, .lost?, nil: .unavailable
        }
    }
}

/// A WebSocket message as `connect` prints it.
struct FrameRecord {
    let payload: RawBody
    let context: ActionContext

    private var isBinary: Bool { payload.kind == .bytes }

    /// Text that is JSON, without insignificant white space.
    private var json: [UInt8]? {
        guard !isBinary else { return nil }
        return JSONPayload.compact(payload.bytes, origin: context.origin, limits: ConnectRequest.limits)
    }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let json {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: payload.bytes)
        }
        if isBinary { object.add("binary", true) }
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        return object.line
    }

    /// Time of day and payload.
    var terminalLine: [UInt8] {
        let time = WallTimeText.utc(context.action.receivedAt).dropFirst(11)
        let text = json.map { String(decoding: $0, as: UTF8.self) } ?? payload.bytes.text.map(LineEscape.escaped)
        let shown = isBinary ? "(\(payload.bytes.count) bytes)" : text ?? ""
        return TerminalText.line([TerminalText.column(String(time), width: 13), "<", shown])
    }
}

/// The outcome of a sent message, as reported by its receiver.
struct AnswerLine {
    private let json: [UInt8]

    /// - Parameter answer: A JSON object.
    init(_ answer: Bytes) {
        json = EscapedJSON.compact(answer)
    }

    /// Returns one line: an object with the member `answer`, or text for a terminal.
    func line(isTerminal: Bool) -> [UInt8] {
        guard !isTerminal else { return TerminalText.line(["answer ", String(decoding: json, as: UTF8.self)]) }
        var object = JSONObject()
        object.add("answer", json: json)
        return object.line
    }
}
