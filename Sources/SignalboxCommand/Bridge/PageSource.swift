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
        let pages = configuration.sources.compactMap { section -> (name: String, value: PageSource)? in
            guard case .script(let script) = section.kind else { return nil }
            return (section.name.text, PageSource(name: section.name, script: script, window: section.window))
        }
        let none = "no source is a page; add one below 'sources', such as page: { script: {} }"
        return try SourceChoice(kind: "script source", none: none, file: file).one(name, of: pages)
    }
}
