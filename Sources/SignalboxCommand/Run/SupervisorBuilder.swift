import Logging
import MQTTPush
import Signalbox
import SignalboxCore

/// Makes a supervisor with the sources and plugins of a configuration.
struct SupervisorBuilder {
    let configuration: RunConfiguration
    let output: StandardOutput
    let logger: Logger

    /// - Parameter outcomes: whether what became of each arrival is written to stdout.
    /// - Throws: ``LedgerError``, `MQTTPushError` or `RegistrationError`: what could not be set up.
    func supervisor(outcomes: Bool) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = configuration.timeout
        bounds.drainLimit = configuration.drainLimit
        bounds.deadLetters = configuration.deadLetters
        if outcomes {
            bounds.onOutcome = { [output] settled in output.offer(OutcomeLine.json(settled)) }
        }
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        var ledgers = LedgerTable()
        for plugin in configuration.plugins {
            try register(plugin, in: supervisor, &ledgers)
        }
        for source in configuration.sources {
            let adapter = try MQTTPushAdapter(source.push(limits: configuration.limits), logger: logger)
            try supervisor.add(adapter, window: source.window)
        }
        return supervisor
    }

    private func register(_ plugin: PluginSection, in supervisor: Supervisor, _ ledgers: inout LedgerTable) throws {
        let (action, rule, timeout) = (plugin.action, plugin.rule, plugin.timeout)
        switch plugin.use {
        case .log: try supervisor.register(LogPlugin(action: action, logger: logger), from: rule, timeout: timeout)
        case .print: try supervisor.register(PrintPlugin(action: action, output: output), from: rule, timeout: timeout)
        case .fail: try supervisor.register(FailPlugin(action: action), from: rule, timeout: timeout)
        case .suspend: try supervisor.register(SuspendPlugin(action: action), from: rule, timeout: timeout)
        case .file(let path):
            let ledger = try ledgers.ledger(at: path)
            try supervisor.register(FilePlugin(action: action, ledger: ledger), from: rule, timeout: timeout)
        }
    }
}
