import JSBridge
import Logging
import MQTTPush
import Signalbox
import SignalboxCore

/// A source of a configuration, ready to be run.
struct SourceAdapter {
    let section: SourceSection
    private let adapter: any Adapter

    /// - Throws: ``NamedFileError``, `JSBridgeError` or `MQTTPushError`: what could not be set up.
    init(_ section: SourceSection, configuration: RunConfiguration, logger: Logger) throws {
        self.section = section
        let (name, limits) = (section.name, configuration.limits)
        switch section.kind {
        case .mqtt(let mqtt):
            let push = mqtt.push(from: name, limits: limits, holdLimit: configuration.holdLimit)
            adapter = try MQTTPushAdapter(push, logger: logger)
        case .script(let script):
            let scripts = try ScriptFiles.read(script.files)
            let page = script.page(from: name, scripts: scripts, limits: limits)
            adapter = try JavaScriptCoreEngine(page, logger: logger.withoutSecrets)
        case .links(let links):
            if let file = links.file { try InputDescriptor.checkReadable(file) }
            adapter = LinkAdapter(links, source: name, limits: limits, logger: logger)
        }
    }

    /// - Throws: `RegistrationError`, when the supervisor has such a source or is closing.
    func add(to supervisor: Supervisor) throws {
        try supervisor.add(
            adapter,
            window: section.window,
            rateLimit: section.rateLimit,
            repeats: section.repeats
        )
    }
}
