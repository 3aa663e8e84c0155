import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The command `signalbox subscribe URL`.
struct SubscribeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Shows the messages of a broker's topics.",
        discussion: """
            One JSON object per message: topic, payload, payloadKind ("json": payload is the \
            JSON value, "text": a string, "binary": Base64), retained, qos, the MQTT 5 properties, receivedAt, captures. Of messages sent before it connected, the command shows only \
            retained ones, and with --keep-session those that the broker kept. The status is 0 after --count messages, or when the reader closes \
            stdout; with --timeout alone, if at least one message arrived in that time.

            EXAMPLES
              signalbox subscribe mqtt://127.0.0.1:1883 --topic 'push/{device}/{action}' \\
                --count 3 --timeout 30s
              signalbox subscribe mqtt://127.0.0.1:1883 -t 'sensors/#' -F '%I %t %p'

            \(CommandStatus.help([
                .done, .usage, .unreadableFile, .unavailable, .outputFailed, .timeout, .refused, .notSecured,
                .interrupted, .terminated,
            ], of: "subscribe"))
            """
    )

    /// The size limit for a message. Larger messages are reported on stderr.
    private static let messageLimits = MessageLimits(bytes: 1 << 20)

    @OptionGroup(title: "The broker")
    var broker: BrokerArguments

    @Option(
        name: [.customShort("t"), .customLong("topic")],
        help: "A topic filter or a pattern with captures; may be repeated."
    )
    var topics: [String] = []

    @Option(
        name: [.customShort("q"), .customLong("qos")],
        help: "Maximum QoS: 0 (at most once) or 1 (at least once, default).",
        completion: .list(["0", "1"]),
        transform: MQTTQoS.option
    )
    var qos: MQTTQoS?

    @Option(
        help: ArgumentHelp(
            "Share the messages with all subscribers of this group; each goes to one of them.",
            valueName: "group"
        )
    )
    var share: String?

    @Option(
        name: [.customShort("T"), .customLong("exclude")],
        help: ArgumentHelp("Leave out the messages of this topic filter; may be repeated.", valueName: "filter")
    )
    var exclude: [String] = []

    @OptionGroup var retained: RetainedArguments

    @OptionGroup var session: SessionArguments

    @OptionGroup var limits: LimitArguments

    @OptionGroup(title: "Output")
    var output: OutputArguments

    @Flag(help: "Report the rate of messages on stderr once a second.")
    var rate = false

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.warning

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard !rate || !diagnostics.quiet else {
            throw ValidationError("--rate writes to stderr, which --quiet keeps empty; remove one of them")
        }
        let patterns = try topics.map(pattern)
        if session.unsubscribe { try checkUnsubscribing() }
        try retained.check(isShared: patterns.contains(where: \.filter.isShared), keepsSession: session.keepSession)
        _ = try push(patterns)
        _ = try excludedFilters()
    }

    func perform() async throws -> CommandStatus {
        try broker.checkFiles()
        let patterns = try topics.map(pattern)
        let logger = Logger(ofCommandAt: logLevel)
        let push = try push(patterns)
        guard !session.unsubscribe else {
            let filters = patterns.map(\.filter)
            return try await SubscriptionEnd(push, filters: filters, timeout: limits.timeout, logger: logger).run()
        }
        var run = try MessageRun(
            limits: limits,
            logger: logger,
            form: output.form,
            messageLimits: SubscribeCommand.messageLimits,
            patterns: patterns,
            excluded: excludedFilters(),
            showsOnlyRetained: retained.retainedOnly,
            quiet: retained.quietPeriod,
            reportsRate: rate,
            keepsLaterMessages: session.keepSession
        )
        let adapter = try MQTTPushAdapter(push, logger: logger)
        run.readySince = { adapter.subscribedAt }
        guard retained.removeRetained else { return try await run.report(of: adapter).report() }
        let removal = try RetainedRemoval(broker.publisher("removal"), logger: logger)
        run.onWritten = { context in
            guard let facts = context.origin.facts as? PushFacts, facts.retained else { return }
            await removal.remove(facts.topic)
        }
        let report = try await removal.during { [run] in try await run.report(of: adapter) }
        let (status, removing) = (report.report(), removal.report())
        return status == .done ? removing : status
    }

    /// - Throws: `ValidationError` if an option for messages is given, which `--unsubscribe` does not show.
    private func checkUnsubscribing() throws(ValidationError) {
        guard broker.client.id != nil else {
            throw ValidationError("--unsubscribe ends the subscriptions of the session of a client; add --id")
        }
        let options = [
            ("--count", limits.count != nil), ("--exclude", !exclude.isEmpty), ("--rate", rate),
            ("--qos", qos != nil), ("--retained", retained.retained != .deliver),
            ("--retained-only", retained.retainedOnly),
            ("--remove-retained", retained.removeRetained),
            ("--will-topic", broker.will.willTopic != nil),
        ]
        guard !session.keepSession else {
            throw ValidationError("--unsubscribe keeps the session if --topic is given; remove --keep-session")
        }
        if let option = options.first(where: \.1)?.0 ?? output.option {
            throw ValidationError("--unsubscribe shows no messages; remove \(option)")
        }
    }

    /// Returns the filters of `--exclude`. Each message is compared with all of them, so their number has the same limit
    /// as that of the topics.
    private func excludedFilters() throws(ValidationError) -> [TopicFilter] {
        guard exclude.count <= 1_000 else {
            throw ValidationError("--exclude may be repeated at most 1000 times; combine filters with '+' and '#'")
        }
        return try exclude.map { text throws(ValidationError) in
            let filter = try ValidationError.checked("--exclude") { try TopicFilter(text) }
            guard !text.contains("{") else {
                throw ValidationError("--exclude is a filter, without captures; write '+' in place of '{NAME}'")
            }
            guard !filter.isShared else {
                throw ValidationError("--exclude compares topics; write the filter without '$share/GROUP/'")
            }
            return filter
        }
    }

    private func pattern(_ text: String) throws(ValidationError) -> TopicPattern {
        try ValidationError.checkTopic("--topic", text)
        var text = text
        if let share {
            let isName = !share.isEmpty && !share.contains { "/+#{}".contains($0) }
            guard isName else { throw ValidationError("--share: expected a name without '/', '+', '#' and braces") }
            guard !text.hasPrefix("$share/") else {
                throw ValidationError("--topic already names a group; remove --share")
            }
            text = "$share/\(share)/\(text)"
        }
        return try ValidationError.checked("--topic") { [text] in try TopicPattern(text) }
    }

    /// Returns the configuration for the source. Captures are only matched when a message is
    /// printed, so `{action}` and `{id}` have no special meaning here.
    private func push(_ patterns: [TopicPattern]) throws(ValidationError) -> MQTTPushConfiguration {
        guard !patterns.isEmpty || session.unsubscribe else {
            throw ValidationError("--topic is missing; add at least one, such as --topic '#'")
        }
        let topics = patterns.compactMap { pattern in
            (try? TopicPattern(pattern.filter.text)).map { filter in
                var topic = MQTTTopic(filter, payload: .bytes, action: MessageRun.action)
                topic.qos = qos ?? .atLeastOnce
                topic.retained = retained.retained
                return topic
            }
        }
        var push = try broker.source("subscription", topics: topics)
        push.limits = SubscribeCommand.messageLimits
        push.ackDeadline = MessageRun.outputTimeout
        try session.apply(to: &push, isCounted: limits.count != nil)
        guard broker.will.willDelay == nil || session.keepSession else {
            throw ValidationError(
                "--will-delay requires a session, at whose end the will is published; add --keep-session"
            )
        }
        // A session that ends has no topics.
        if !patterns.isEmpty { try ValidationError.checked { [push] in try push.validate() } }
        return push
    }
}

/// Reports the message rate on stderr once a second.
struct RateReporter: Sendable {
    private static let interval: Duration = .seconds(1)

    /// Returns the number of messages since the start.
    let count: @Sendable () -> Int

    /// Writes one line per second until the task is cancelled, and then one for the rest.
    func run() async {
        let clock = ContinuousClock()
        var (before, moment) = (count(), clock.now)
        func report() {
            let (now, next) = (count(), clock.now)
            let line = RateReporter.line(new: now - before, within: next - moment, all: now)
            DiagnosticOutput.shared.report(line, level: .info)
            (before, moment) = (now, next)
        }
        while (try? await clock.sleep(until: moment + RateReporter.interval)) != nil { report() }
        if count() > before { report() }
    }

    /// Returns the line for an interval. The interval may be longer than a second.
    static func line(new: Int, within time: Duration, all: Int) -> String {
        let perSecond = time > .zero ? Int((Double(new) / (time / .seconds(1))).rounded()) : 0
        return "\(perSecond) \(perSecond == 1 ? "message" : "messages")/s, \(all) in total"
    }
}
