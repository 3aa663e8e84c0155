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
        let sources = try linkSources(name)
        let takers = sources.filter { $0.value.accepts(link) }
        if takers.count > 1 {
            let names = takers.dropFirst().map(\.section.name.text).joined(separator: ", ")
            let note = "\(file): \(names) would also accept this link; choose one with --source"
            DiagnosticOutput.shared.report(note, level: .notice)
        }
        var answer: ExplanationLine
        if let (section, links) = takers.first ?? (sources.count == 1 ? sources.first : nil) {
            answer = try line(about: ExplainedMessage(link: link, links, of: section, in: configuration))
        } else {
            answer = ExplanationLine(unmatched: unmatched(link, sources))
        }
        answer.link = InputLine(link)
        answer.navigation = await configuration.navigation?.decide(link, kind: .link, frame: .main)
        return answer
    }

    private func line(about message: ExplainedMessage) throws -> ExplanationLine {
        let builder = SupervisorBuilder(
            configuration: configuration,
            printing: nil,
            logger: logger,
            appendLogs: AppendLogTable(opensFiles: false)
        )
        let supervisor = try builder.supervisor(onOutcome: nil)
        try builder.add(try builder.adapter(of: message.source), of: message.source, to: supervisor)
        return ExplanationLine(message, supervisor.explain(message.arrival), plugins: configuration.plugins)
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
