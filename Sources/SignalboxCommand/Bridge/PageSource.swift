import Signalbox
import SignalboxCore

/// The source that a page of `bridge` stands for: its name and bounds.
struct PageSource: Sendable {
    let name: SourceName
    let script: ScriptSection
    let window: WindowLimits

    /// A page that no configuration tells of.
    static let unconfigured = PageSource(name: "page", script: ScriptSection(), window: WindowLimits())

    /// The script source of a configuration, or the one with this name.
    ///
    /// - Throws: ``CommandRefusal`` when there is none, or several and no name.
    static func find(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandRefusal)
        -> PageSource
    {
        let pages = configuration.sources.compactMap { section -> PageSource? in
            guard case .script(let script) = section.kind else { return nil }
            return PageSource(name: section.name, script: script, window: section.window)
        }
        let names = pages.map(\.name.text)
        let found = name.map { wanted in pages.filter { $0.name.text == wanted } } ?? pages
        if found.count == 1, let page = found.first { return page }
        let problem =
            if pages.isEmpty {
                "no source is a page; add one below 'sources', such as page: { script: {} }"
            } else if let name {
                "there is no script source '\(name)'\(NameSuggestion.advice(for: name, among: names)); "
                    + "script sources are: \(names.joined(separator: ", "))"
            } else {
                "there are several script sources; choose one with --source: \(names.joined(separator: ", "))"
            }
        throw CommandRefusal(.invalidConfiguration, "\(file): \(problem)")
    }
}
