import AppScheme
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// Explains how a configuration treats messages and links, without starting anything.
struct ConfigurationExplainer {
    let configuration: RunConfiguration
    /// The configuration's path, for error messages.
    let file: String
    private let logger = Logger(label: "signalbox") { _ in SwiftLogNoOpLogHandler() }

    /// Returns the source with the given name. If the name is `nil`, returns the only source in the configuration whose
    /// messages can have the facts.
    ///
    /// - Throws: ``CommandFailure`` if there is no such source, or if there are several and no name is given.
    func source(_ name: String?, for facts: MessageFacts) throws(CommandFailure) -> SourceSection {
        let choice = SourceChoice(kind: "source", none: "there is no source", file: file)
        if name == nil, !facts.given.isEmpty {
            let fitting = configuration.sources.filter { source in
                facts.given.allSatisfy { $0.kinds.contains(source.kind.description) }
            }
            if fitting.count == 1, let source = fitting.first { return source }
        }
        return try choice.one(name, in: configuration) { $0 }.section
    }

    /// Returns an explanation of the message.
    ///
    /// - Throws: ``CommandFailure``, or the error that prevented the configuration from being set up.
    func line(about bytes: [UInt8], _ facts: MessageFacts, of source: SourceSection) throws -> ExplanationLine {
        try line(about: ExplainedMessage(bytes, facts, of: source, in: configuration))
    }

    /// Returns an explanation of the link for the source with the given name. If no name is given, the first source
    /// with a matching route is used.
    ///
    /// - Throws: ``CommandFailure``, or the error that prevented the configuration from being set up.
    func line(about link: String, of name: String?) async throws -> ExplanationLine {
        let (reading, others) = try reading(of: link, from: name)
        if !others.isEmpty {
            let names = others.map(\.text).joined(separator: ", ")
            let note = "\(file): \(names) would also accept this link; choose one with --source"
            DiagnosticOutput.shared.report(note, level: .notice)
        }
        var answer =
            switch reading {
            case .success(let message): try line(about: message)
            case .failure(let rejection): ExplanationLine(unmatched: rejection)
            }
        answer.link = InputLine(link)
        answer.navigation = await configuration.navigation?.decide(link, kind: .link, frame: .main)
        return answer
    }

    /// Returns the message that the source with the given name makes of the link, or why no source accepts it. If no
    /// name is given, the first source with a matching route makes it, and the others are returned too.
    ///
    /// - Throws: ``CommandFailure`` if there is no such source.
    func reading(of link: String, from name: String?) throws(CommandFailure)
        -> (Result<ExplainedMessage, Outcome.Rejection>, others: [SourceName])
    {
        let sources = try linkSources(name)
        let takers = sources.filter { $0.value.accepts(link) }
        guard let (section, links) = takers.first ?? (sources.count == 1 ? sources.first : nil) else {
            return (.failure(unmatched(link, sources)), [])
        }
        let message = try ExplainedMessage(link: link, links, of: section, in: configuration)
        return (.success(message), takers.dropFirst().map(\.section.name))
    }

    /// Returns an explanation of a message as a source has read it.
    ///
    /// - Throws: The error that prevented the configuration from being set up.
    func line(about message: ExplainedMessage) throws -> ExplanationLine {
        let builder = SupervisorBuilder(
            configuration: configuration,
            printing: nil,
            logger: logger,
            appendLogs: AppendLogTable(opensFiles: false)
        )
        let supervisor = try builder.supervisor(onOutcome: nil)
        try builder.add(try builder.adapter(of: message.source), of: message.source, to: supervisor)
        return ExplanationLine(
            message,
            supervisor.explain(message.arrival),
            plugins: configuration.plugins,
            limits: configuration.limits
        )
    }

    /// Returns the outcome of the message if the plugin receives it now. The plugin must not have effects.
    ///
    /// - Throws: The error that prevented the plugin from being set up.
    func outcome(of message: ExplainedMessage, from plugin: PluginSection) async throws -> Outcome? {
        var alone = RunConfiguration()
        // No other message, and no slow machine, must change the result.
        let limit = Duration.seconds(3_600)
        var plugin = plugin
        (plugin.retry, plugin.circuitBreaker, plugin.timeout) = (nil, nil, limit)
        alone.plugins = [plugin]
        alone.limits = configuration.limits
        alone.supervisor.ackDeadline = limit
        let builder = SupervisorBuilder(configuration: alone, printing: nil, logger: logger)
        let supervisor = try builder.supervisor(onOutcome: nil)
        let adapter = InternalAdapter(message.arrival)
        try supervisor.add(adapter)
        try await supervisor.run()
        return adapter.outcome
    }
}

extension ConfigurationExplainer {
    private typealias LinkSection = (section: SourceSection, value: LinksSource)

    private func linkSources(_ name: String?) throws(CommandFailure) -> [LinkSection] {
        let choice = SourceChoice(kind: "links source", none: "there is no links source", file: file)
        guard let name else { return choice.all(in: configuration, \.links) }
        return [try choice.one(name, in: configuration, \.links)]
    }

    private func unmatched(_ link: String, _ sources: [LinkSection]) -> Outcome.Rejection {
        guard let first = sources.first, case .failure(let rejection) = first.value.routes.match(link).reading else {
            return Outcome.Rejection(.unknownAction, detail: "no source of the configuration has links")
        }
        let names = sources.map(\.section.name.text).joined(separator: ", ")
        return Outcome.Rejection(
            rejection.reason,
            detail: "none of the sources \(names) accepts it: \(rejection.detail)"
        )
    }
}

extension LinksSource {
    /// Returns whether a route matches the link, or the fallback accepts it.
    fileprivate func accepts(_ link: String) -> Bool {
        let match = routes.match(link)
        if case .success = match.reading { return true }
        return match.pattern != nil
    }
}

extension InputLine {
    /// Creates a line from an argument. If the argument is longer than a URL can be, it is truncated to that length.
    fileprivate init(_ link: String) {
        let bytes = Array(link.utf8.prefix(URLText.maximumLength))
        self.init(bytes, isTruncated: bytes.count < link.utf8.count)
    }
}
