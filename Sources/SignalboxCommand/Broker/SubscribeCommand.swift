import ArgumentParser
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// `signalbox subscribe URL`.
struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Shows the messages of a broker's topics.",
        discussion: """
            One JSON object per message: topic, payload (the JSON value, else text, else Base64 with "encoding"), \
            retained, qos, receivedAt, captures. The command has no session at the broker: of messages sent before it \
            connected, it shows only retained ones. The status is 0 after --count messages, or when the reader closes \
            stdout; with --timeout alone, if at least one message arrived in that time.

            EXAMPLE
              signalbox subscribe mqtt://127.0.0.1:1883 --topic 'push/{device}/{action}' --count 3 --timeout 30s

            \(CommandStatus.help([
                .done, .usage, .unavailable, .outputFailed, .timeout, .refused, .notSecured, .interrupted,
                .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The broker: mqtt://host or mqtt://host:port, mqtts:// for TLS.", valueName: "url"))
    var broker: String

    @Option(
        name: [.customShort("t"), .customLong("topic")],
        help: "A topic filter or a pattern with captures; may be repeated."
    )
    var topics: [String]

    @Option(help: "Maximum QoS: 0 (at most once) or 1 (at least once, default).")
    var qos: Int?

    @Option(
        help: ArgumentHelp(
            "Share the messages with all subscribers of this group; each goes to one of them.",
            valueName: "group"
        )
    )
    var share: String?

    @Option(help: "How to treat retained messages: deliver or ignore.")
    var retained: String?

    @Option(help: "End after this many messages.")
    var count: Int?

    @Option(help: "End after this time: a number of seconds, or a duration such as 500ms, 30s, 5m.")
    var timeout: String?

    @Option(defaultAsFlag: RawOutput.auto, parsing: .next, help: RawOutput.help("each payload"))
    var raw: RawOutput?

    @Flag(help: "Report the rate of messages on stderr once a second.")
    var rate = false

    @OptionGroup(title: "The broker")
    var arguments: BrokerArguments

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        try RawOutput.validate(raw)
        _ = try request()
    }

    func run() async throws {
        arguments.warn()
        let status = await SubscribeProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> SubscribeRequest {
        guard !topics.isEmpty else {
            throw ValidationError("--topic is missing; add at least one, such as --topic '#'")
        }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be at least 1") }
        let request = SubscribeRequest(
            options: try arguments.connectionOptions(at: broker),
            patterns: try topics.map { try pattern($0) },
            qos: try QoSOption.parse(qos),
            retained: try retainedMessages(),
            count: count,
            timeout: try timeout.map(TimeoutOption.duration),
            raw: raw,
            showsRate: rate
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.push.validate() }
        return request
    }

    private func pattern(_ text: String) throws(ValidationError) -> TopicPattern {
        var text = text
        if let share {
            let isName = !share.isEmpty && !share.contains { "/+#{}".contains($0) }
            guard isName else { throw ValidationError("--share: expected a name without '/', '+', '#' and braces") }
            guard !text.hasPrefix("$share/") else {
                throw ValidationError("--topic already names a group; remove --share")
            }
            text = "$share/\(share)/\(text)"
        }
        do throws(TopicError) {
            return try TopicPattern(text)
        } catch {
            throw ValidationError("--topic: \(error)")
        }
    }

    private func retainedMessages() throws(ValidationError) -> MQTTRetained {
        guard let retained else { return .deliver }
        guard let choice = MQTTRetained(rawValue: retained) else {
            let keywords = MQTTRetained.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--retained: expected one of \(keywords)")
        }
        return choice
    }
}

/// The validated arguments of `subscribe`.
struct SubscribeRequest: Sendable {
    static let source: SourceName = "subscription"
    static let action: ActionName = "message"
    /// The maximum size of a message. A larger one is reported on stderr.
    static let limits = MessageLimits(bytes: 1 << 20)
    /// The maximum time that a message waits for a slow reader of stdout.
    static let outputTimeout: Duration = .seconds(3_600)

    let options: BrokerConnectionOptions
    let patterns: [TopicPattern]
    let qos: MQTTQoS
    let retained: MQTTRetained
    let count: Int?
    let timeout: Duration?
    let raw: RawOutput?
    /// Whether the message rate is reported once a second.
    let showsRate: Bool

    /// Returns the output for a message, with its newline.
    func line(for body: RawBody, _ context: ActionContext, isTerminal: Bool) -> [UInt8] {
        if let raw { return raw.line(Array(body.bytes), isTerminal: isTerminal) }
        let message = MessageRecord(payload: body.bytes, context: context, patterns: patterns)
        return isTerminal ? message.terminalLine : message.jsonLine
    }

    /// Whether the user set a condition for success. Otherwise every end is a success.
    var hasSuccessCondition: Bool { count != nil || timeout != nil }

    /// The number of messages required for success.
    var requiredCount: Int { count ?? 1 }

    /// The source, without a session. Captures are matched when a message is printed, so `{action}` and `{id}` have no
    /// special meaning here.
    var push: MQTTPushConfiguration {
        let topics = patterns.compactMap { pattern in
            (try? TopicPattern(pattern.filter.text)).map { filter in
                var topic = MQTTTopic(filter, payload: .bytes, action: SubscribeRequest.action)
                topic.qos = qos
                topic.retained = retained
                return topic
            }
        }
        var push = MQTTPushConfiguration.withoutSession(
            source: SubscribeRequest.source,
            broker: options.broker,
            topics: topics
        )
        options.apply(to: &push)
        push.limits = SubscribeRequest.limits
        push.ackDeadline = SubscribeRequest.outputTimeout
        return push
    }
}

/// The `subscribe` command, from start to exit status.
enum SubscribeProgram {
    /// Receives until enough messages are written, the timeout expires, stdout is closed, or a signal arrives. All
    /// diagnostics are written when it returns.
    static func status(of request: SubscribeRequest, logger: Logger) async -> CommandStatus {
        let output = StandardOutput()
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let isTerminal = output.isTerminal
        let plugin = MessagePlugin(action: SubscribeRequest.action, count: request.count, output: output) {
            request.line(for: $0, $1, isTerminal: isTerminal)
        } onCountReached: {
            stopper.yield()
        }
        let supervisor: Supervisor
        do {
            supervisor = try makeSupervisor(request, plugin, logger)
        } catch {
            DiagnosticOutput.shared.report("\(error)")
            await DiagnosticOutput.shared.flush()
            return .unavailable
        }
        let signals = await WatchedSignals.begin()
        let timer = Task {
            guard let timeout = request.timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            plugin.close(because: .timeout)
            stopper.yield()
        }
        let session = ServiceSession(supervisor: supervisor, output: output, logger: logger)
        let rate = RateReporter { plugin.shown }
        let end = await session.run(signals, stop: stop) { if request.showsRate { await rate.run() } }
        timer.cancel()
        let result = status(end, await output.finish(), signals.first, plugin, request)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, regardless of what it waits for.
        withExtendedLifetime(signals) {}
        return result
    }

    private static func makeSupervisor(
        _ request: SubscribeRequest,
        _ plugin: MessagePlugin,
        _ logger: Logger
    ) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = SubscribeRequest.outputTimeout
        bounds.ackDeadline = SubscribeRequest.outputTimeout
        bounds.drainLimit = .seconds(2)
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        try supervisor.register(Registration(plugin, from: .source(SubscribeRequest.source)))
        try supervisor.add(try MQTTPushAdapter(request.push, logger: logger))
        return supervisor
    }

    private static func status(
        _ end: ServiceSession.End,
        _ lost: OutputFailure?,
        _ signal: CommandStatus?,
        _ plugin: MessagePlugin,
        _ request: SubscribeRequest
    ) -> CommandStatus {
        if case .failed(let error) = end {
            DiagnosticOutput.shared.report("\(error)")
            return (error as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
        }
        switch lost {
        case .closed?: return .done
        case let reason?:
            DiagnosticOutput.shared.report("\(reason)")
            return .outputFailed
        case nil: break
        }
        guard request.hasSuccessCondition, plugin.shown < request.requiredCount else { return .done }
        let received = "\(plugin.shown) of \(request.requiredCount) messages received"
        if plugin.stopReason == .timeout {
            let time = request.timeout.map { " after \(DurationText.text($0))" } ?? ""
            DiagnosticOutput.shared.report("timed out\(time): \(received)")
            return .timeout
        }
        guard let signal else { return .done }
        DiagnosticOutput.shared.report("ended by a signal: \(received)")
        return signal
    }
}

/// Reports the message rate on stderr once a second.
struct RateReporter: Sendable {
    private static let interval: Duration = .seconds(1)

    /// Returns the number of messages since the start.
    let count: @Sendable () -> Int

    /// Writes one line a second until the task is cancelled.
    func run() async {
        let clock = ContinuousClock()
        var (before, moment) = (count(), clock.now)
        while true {
            do {
                try await clock.sleep(until: moment + RateReporter.interval)
            } catch {
                return
            }
            let (now, next) = (count(), clock.now)
            DiagnosticOutput.shared.report(RateReporter.line(new: now - before, within: next - moment, all: now))
            (before, moment) = (now, next)
        }
    }

    /// Returns the line for an interval, which may be longer than a second.
    static func line(new: Int, within time: Duration, all: Int) -> String {
        let perSecond = time > .zero ? Int((Double(new) / (time / .seconds(1))).rounded()) : 0
        return "\(perSecond) messages/s, \(all) in total"
    }
}
