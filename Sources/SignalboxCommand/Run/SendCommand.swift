import ArgumentParser
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// The command `signalbox send CONFIG ACTION`.
struct SendCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one action to a plugin of a configuration and shows the outcome.",
        usage: "signalbox send [<options>] <config> <action>",
        discussion: """
            The action comes from the source 'internal', which the plugin's 'from' must name. The configuration's \
            sources are not used. With --to-running, the action goes to the program that runs with the configuration, \
            through its control socket. One JSON object: source, action, id, body, outcome, reason, detail, path, reply.

            EXAMPLES
              signalbox send examples/tour/page.yaml payment --body '{}'
              signalbox send signalbox.yaml payment --body '{}' --to-running

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .protocolBroken, .refused, .interrupted, .terminated,
            ], of: "send"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration whose plugin is called.", valueName: "config"),
        completion: .configuration
    )
    var config: String

    @Argument(help: "The action's name.")
    var action: String

    @OptionGroup var content: BodyArguments

    @Flag(help: "Send it to the program that runs with the configuration.")
    var toRunning = false

    @Option(help: "The id; by default one is assigned and not shown.")
    var id: String?

    @Option(
        name: [.customShort("W"), .customLong("timeout")],
        help: "Wait at most this time for the outcome: \(TimeoutOption.form).",
        transform: TimeoutOption.duration
    )
    var timeout: Duration?

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.warning

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        try MixedArguments.validate(first: config)
        _ = try (name(), actionID())
    }

    func perform() async throws -> CommandStatus {
        guard !toRunning else { return try await sendToRunning() }
        let configuration = try ConfigurationFile.read(config, for: .plugins)
        let limits = configuration.limits
        let bytes = try await body(limits)
        let adapter = try InternalAdapter(name(), id: actionID(), body: bytes, limits: limits)
        let logger = Logger(ofCommandAt: logLevel, hasPlugins: true)
        var run = SingleSourceRun(configuration: configuration, adapter: adapter, logger: logger)
        run.timeout = timeout
        let report = try await run.report()
        if case .rejected(let rejection)? = adapter.outcome, rejection.reason == .sourceNotAllowed,
            let advice = try advice(configuration)
        {
            DiagnosticOutput.shared.report(advice)
        }
        try report.check("the action had an outcome")
        return report.summary.settled == 1 && report.summary.notHandled == 0 ? .done : .notAsExpected
    }

    private func body(_ limits: MessageLimits) async throws -> [UInt8] {
        guard let source = content.source else { return [] }
        let bytes = try await source.bytes(
            limit: limits.bytes,
            what: content.inputName,
            tooLarge: .invalidConfiguration
        )
        guard !bytes.isEmpty else {
            throw CommandFailure(.invalidConfiguration, "the body is empty; write null, or remove the option")
        }
        return bytes
    }

    /// Sends the action to the program that runs with the configuration. That program's limits apply.
    private func sendToRunning() async throws -> CommandStatus {
        let client = try ControlClient(path: try ControlArguments.path(in: config))
        let bytes = try await body(MessageLimits(bytes: 1 << 26, depth: 512))
        do throws(BodyError) {
            _ = try Body(
                json: Bytes(bytes.isEmpty ? Array("null".utf8) : bytes),
                limits: MessageLimits(bytes: 1 << 26, depth: 512)
            )
        } catch {
            throw CommandFailure(.invalidConfiguration, "the body cannot be sent as JSON: \(error)")
        }
        let request = ControlRequest.send(
            action: try name(),
            id: try actionID(),
            body: bytes.isEmpty ? Bytes("null") : Bytes(bytes)
        )
        let answer = try await answer(of: client, to: request)
        try await StandardOutput().write(answer)
        let outcome: SentOutcome = try ControlClient.decoded(answer)
        if outcome.reason == Outcome.Rejection.Reason.sourceNotAllowed.description,
            let configuration = try? ConfigurationFile.read(config, for: .plugins),
            let advice = try advice(configuration)
        {
            DiagnosticOutput.shared.report(advice)
        }
        return outcome.outcome == "handled" ? .done : .notAsExpected
    }

    private func answer(of client: ControlClient, to request: ControlRequest) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            group.addTask { try await client.ask(request) }
            if let timeout {
                group.addTask {
                    try? await Task.sleep(for: timeout)
                    return nil
                }
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else {
                throw CommandFailure(.timeout, "timed out before the action had an outcome")
            }
            return answer
        }
    }

    private struct SentOutcome: Decodable {
        let outcome: String
        let reason: String?
    }

    private func name() throws -> ActionName {
        do throws(NameError) {
            return try ActionName(action)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private func actionID() throws -> ActionID? {
        let actionID = id.flatMap(ActionID.init)
        guard id == nil || actionID != nil else {
            throw ValidationError("--id: an id has 1 to \(ActionID.maximumLength) bytes")
        }
        return actionID
    }

    /// Returns advice about a plugin whose rule does not admit this source.
    private func advice(_ configuration: RunConfiguration) throws -> String? {
        let name = try name()
        let plugin = configuration.plugins.first { $0.action == name }
        guard let plugin else { return nil }
        let needsConnection = plugin.use.parts.contains { use in
            switch use {
            case .join, .leave, .broadcast(to: nil, _): true
            default: false
            }
        }
        if needsConnection {
            return "the plugin '\(name)' needs the connection that an action comes from; use 'signalbox connect URL'"
        }
        let place = configuration.ruleLines[name].map { "\(config):\($0)" } ?? config
        let own = SourceSection.internalName.text
        let sources = plugin.from.map { rule in if case .origin(let source, []) = rule { source.text } else { "…" } }
        let list = (sources + [own]).joined(separator: ", ")
        return "\(place): to allow it, add '\(own)' to 'from' of the plugin '\(name)', such as from: [\(list)]"
    }
}

/// Delivers a single action from the program itself. The adapter ends when the action is settled.
final class InternalAdapter: Adapter {
    private let arrival: Arrival
    private let settled = Mutex<Outcome?>(nil)

    /// - Parameters:
    ///   - body: The body as JSON. Empty input stands for `null`.
    ///   - limits: The message limits.
    init(_ action: ActionName, id: ActionID?, body: [UInt8], limits: MessageLimits) throws(CommandFailure) {
        arrival = try Arrival.sent(action, id: id, body: body, limits: limits)
    }

    /// Creates an adapter for a message of any source.
    init(_ arrival: Arrival) {
        self.arrival = arrival
    }

    var source: SourceName { arrival.origin.source }
    var features: AdapterFeatures { .replies }

    /// The outcome of the action, or `nil` until it has one.
    var outcome: Outcome? { settled.withLock { $0 } }

    func run(into intake: any Intake) async {
        let outcome = await intake.deliver([arrival]).first
        settled.withLock { $0 = outcome }
    }
}

/// The facts about an action that was sent by the program itself.
struct InternalFacts: OriginFacts {
    static let kind = "internal"
}

extension Arrival {
    /// Returns an action that comes from the program itself.
    ///
    /// - Parameter body: The body as JSON. Empty input stands for `null`.
    /// - Throws: ``CommandFailure`` if the body is not JSON within the limits.
    static func sent(
        _ action: ActionName,
        id: ActionID?,
        body: [UInt8],
        limits: MessageLimits
    ) throws(CommandFailure) -> Arrival {
        let origin = Origin(source: SourceSection.internalName, facts: InternalFacts())
        let naming = RouteNaming(action: action, id: id)
        let arrival = try Arrival.single(body, from: origin, .route(naming), limits: limits)
        if case .failure(let rejection) = arrival.reading {
            throw CommandFailure(.invalidConfiguration, "the body cannot be sent as JSON: \(rejection.detail)")
        }
        return arrival
    }
}
