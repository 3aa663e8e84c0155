import AdapterSupport
import ArgumentParser
import Foundation
import Logging
import Signalbox
import SignalboxCore

/// `signalbox send ACTION`.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one action to a plugin of a configuration and shows the outcome.",
        discussion: """
            The action comes from the source 'internal', which the plugin's 'from' must name. The configuration's \
            sources are not used. One JSON object: source, action, id, body, outcome, reason, detail, path, reply.

            EXAMPLE
              signalbox send payment --body '{}' --config examples/tour/page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: "The action's name.")
    var action: String

    @Option(help: ArgumentHelp("The body; '-' reads it from stdin; default null.", valueName: "json"))
    var body: String?

    @Option(help: "The id; by default one is assigned and not shown.")
    var id: String?

    @Option(help: ArgumentHelp("The configuration whose plugin is called.", valueName: "file"))
    var config: String

    @Option(help: "Wait at most this time for the outcome: \(TimeoutOption.form).")
    var timeout: String?

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        let status = await SendProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> SendRequest {
        let name: ActionName
        do throws(NameError) {
            name = try ActionName(action)
        } catch {
            throw ValidationError("\(error)")
        }
        let actionID = id.flatMap(ActionID.init)
        guard id == nil || actionID != nil else {
            throw ValidationError("--id: an id has 1 to \(ActionID.maximumLength) bytes")
        }
        return SendRequest(
            action: name,
            id: actionID,
            body: BodyInput(body),
            config: config,
            timeout: try timeout.map(TimeoutOption.duration)
        )
    }
}

/// The arguments of `send`.
struct SendRequest: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: BodyInput
    /// The path of the configuration whose plugin is called.
    let config: String
    /// The maximum time to wait for the outcome.
    let timeout: Duration?
}

/// The `send` command, from reading the body to the exit status.
enum SendProgram {
    /// Sends the action to its plugin and returns the exit status. All diagnostics are written when it returns.
    static func status(of request: SendRequest, logger: Logger) async -> CommandStatus {
        do {
            let configuration = try ConfigurationFile.read(request.config, for: .plugins)
            let limits = configuration.limits
            let body = try await request.body.bytes(limit: limits.bytes)
            let run = SingleSourceRun(
                configuration: configuration,
                adapter: try InternalAdapter(request.action, id: request.id, body: body, limits: limits),
                timeout: request.timeout,
                logger: logger
            )
            return try await run.status { exitStatus($0, request, configuration) }
        } catch {
            return await CommandFailure(error).report()
        }
    }

    private static func exitStatus(
        _ report: SingleSourceReport,
        _ request: SendRequest,
        _ configuration: RunConfiguration
    )
        -> CommandStatus
    {
        if let advice = advice(request, configuration) { DiagnosticOutput.shared.report(advice) }
        if let status = report.earlyEndStatus("the action had an outcome") { return status }
        return report.summary.settled == 1 && report.summary.notHandled == 0 ? .done : .notAsExpected
    }

    /// Returns the rule to add to the configuration if the plugin does not accept actions from this source.
    private static func advice(_ request: SendRequest, _ configuration: RunConfiguration) -> String? {
        let plugin = configuration.plugins.first { $0.action == request.action }
        guard let plugin, !plugin.from.flatMap(\.sources).contains(SourceSection.internalName) else { return nil }
        let rule = "- source: \(SourceSection.internalName)"
        return "\(request.config): to allow it, add this line to 'from' of the plugin '\(plugin.action)': \(rule)"
    }
}

/// The body of the action that `send` sends.
enum BodyInput: Sendable {
    /// No body.
    case none
    /// A command-line argument.
    case text(String)
    /// The content of stdin up to its end.
    case standardInput

    /// - Parameter argument: The value of `--body`.
    init(_ argument: String?) {
        self = argument.map { $0 == "-" ? .standardInput : .text($0) } ?? .none
    }

    /// Returns the body's bytes. They are empty only if no body was given.
    ///
    /// - Throws: ``CommandFailure`` if the given body is empty, larger than the limit or unreadable.
    func bytes(limit: Int) async throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        switch self {
        case .none: return []
        case .text(let text): bytes = Array(text.utf8)
        case .standardInput:
            do throws(FileReadError) {
                bytes = try await FileContent.waiting { FileContent.read(STDIN_FILENO, limit: limit) }.get()
            } catch {
                throw CommandFailure(.invalidConfiguration, "the body on stdin cannot be read: \(error)")
            }
        }
        guard !bytes.isEmpty else {
            throw CommandFailure(.invalidConfiguration, "the body is empty; remove --body, or write null")
        }
        return bytes
    }
}

/// An adapter that delivers a single action of the program itself and ends when it is settled.
struct InternalAdapter: Adapter {
    private let arrival: Arrival

    /// - Parameters:
    ///   - body: JSON, or empty for null.
    ///   - limits: The limits of the message.
    init(_ action: ActionName, id: ActionID?, body: [UInt8], limits: MessageLimits) throws(CommandFailure) {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        let origin = Origin(source: SourceSection.internalName, facts: InternalFacts())
        let naming = RouteNaming(action: action, id: id)
        body.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now(), envelope: .route(naming))
        }
        guard let arrival = batch.take().first else { throw CommandFailure(.unavailable, "the body has no action") }
        if case .failure(let rejection) = arrival.reading {
            throw CommandFailure(.invalidConfiguration, "the body cannot be sent as JSON: \(rejection.detail)")
        }
        self.arrival = arrival
    }

    var source: SourceName { SourceSection.internalName }
    var features: AdapterFeatures { .replies }

    func run(into intake: any Intake) async {
        _ = await intake.deliver([arrival])
    }
}

/// The facts about an action that the program itself sent.
struct InternalFacts: OriginFacts {
    static let kind = "internal"
}
