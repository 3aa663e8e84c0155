import JSBridge
import Logging
import MQTTPush
import Signalbox
import SignalboxCore

/// Makes a supervisor with the plugins of a configuration, and its sources.
struct SupervisorBuilder {
    let configuration: RunConfiguration
    /// Where the plugin `print` writes.
    let printing: PrintTarget
    let logger: Logger

    /// A supervisor with the plugins, and without sources.
    ///
    /// - Parameter onOutcome: told what became of each arrival; must not block.
    /// - Throws: ``LedgerError`` or `RegistrationError`: what could not be set up.
    func supervisor(onOutcome: (@Sendable (SettledArrival) -> Void)?) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = configuration.timeout
        bounds.drainLimit = configuration.drainLimit
        bounds.deadLetters = configuration.deadLetters
        bounds.onOutcome = onOutcome
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        var ledgers = LedgerTable()
        for plugin in configuration.plugins {
            try register(plugin, in: supervisor, &ledgers)
        }
        return supervisor
    }

    /// Adds every source of the configuration.
    ///
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError` or `RegistrationError`: what could not be set up.
    func addSources(to supervisor: Supervisor) throws {
        for source in configuration.sources {
            switch source.kind {
            case .mqtt(let mqtt):
                let push = mqtt.push(from: source.name, limits: configuration.limits)
                try supervisor.add(try MQTTPushAdapter(push, logger: logger), window: source.window)
            case .script(let script):
                let scripts = try ScriptFiles.read(script.files)
                let page = script.page(from: source.name, scripts: scripts, limits: configuration.limits)
                try supervisor.add(try JavaScriptCoreEngine(page, logger: logger), window: source.window)
            case .links(let links):
                if let file = links.file { try InputDescriptor.checkReadable(file) }
                let adapter = LinkAdapter(links, source: source.name, limits: configuration.limits, logger: logger)
                try supervisor.add(adapter, window: source.window)
            }
        }
    }

    private func register(_ plugin: PluginSection, in supervisor: Supervisor, _ ledgers: inout LedgerTable) throws {
        let (action, rule, timeout) = (plugin.action, plugin.rule, plugin.timeout)
        switch plugin.use {
        case .log:
            try supervisor.register(
                LogPlugin(action: action, logger: logger),
                from: rule,
                options: PluginOptions(timeout: timeout)
            )
        case .print:
            try supervisor.register(
                PrintPlugin(action: action, target: printing),
                from: rule,
                options: PluginOptions(timeout: timeout)
            )
        case .fail:
            try supervisor.register(FailPlugin(action: action), from: rule, options: PluginOptions(timeout: timeout))
        case .suspend:
            try supervisor.register(SuspendPlugin(action: action), from: rule, options: PluginOptions(timeout: timeout))
        case .reply(let value):
            try supervisor.register(
                ReplyPlugin(action: action, value: value),
                from: rule,
                options: PluginOptions(timeout: timeout)
            )
        case .file(let path):
            let ledger = try ledgers.ledger(at: path)
            try supervisor.register(
                FilePlugin(action: action, ledger: ledger),
                from: rule,
                options: PluginOptions(timeout: timeout)
            )
        }
    }
}
