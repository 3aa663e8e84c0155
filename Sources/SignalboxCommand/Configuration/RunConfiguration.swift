import Signalbox
import SignalboxCore

/// What a configuration file says, checked: names are names, patterns are patterns, numbers are in their ranges.
struct RunConfiguration: Sendable {
    /// In the order of the file; at least one, unless only the navigation chain is asked for.
    var sources: [SourceSection] = []
    /// In the order of the file; each action once.
    var plugins: [PluginSection] = []
    /// The bounds of one message, for every source.
    var limits = MessageLimits()
    /// What the store of dead letters keeps.
    var deadLetters = DeadLetterLimits()
    /// How long a plugin's call may take when the plugin names no other time.
    var timeout: Duration = .seconds(3)
    /// How long a source that redelivers holds a message unacknowledged.
    var holdLimit: Duration = .seconds(5)
    /// How long a drain may take.
    var drainLimit: Duration = .seconds(10)
    /// The most log lines a second about one source's dead letters.
    var logLinesPerSecond = 50
    /// Who decides which URLs a page may load, where that is said.
    var navigation: NavigationSection?
    /// Warnings about secrets that others can read, which `run` logs too.
    var exposures: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The ledger of the first plugin `file`, if there is one.
    var firstLedger: String? {
        plugins.lazy.compactMap { if case .file(let path) = $0.use { path } else { nil } }.first
    }
}
