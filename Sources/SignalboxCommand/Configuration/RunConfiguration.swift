import NavigationChain
import Signalbox
import SignalboxCore

/// The validated content of a configuration file.
struct RunConfiguration: Sendable {
    /// The sources in file order; at least one, unless the command needs only the navigation chain.
    var sources: [SourceSection] = []
    /// The plugins in file order; one per action.
    var plugins: [PluginSection] = []
    /// The limits of one message, for every source.
    var limits = MessageLimits()
    /// The limits and timeouts of the whole program.
    var supervisor = SupervisorConfiguration()
    /// The chain that decides which URLs a page may load, if configured. It opens nothing: its reasons name what would be
    /// opened.
    var navigation: NavigationRouter?
    /// The warnings that `run` logs too: secrets that other users can read, and former names of keys.
    var warnings: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The path of the first `file` plugin's append log, if there is one.
    var firstAppendLog: String? {
        plugins.lazy.compactMap { if case .file(let path) = $0.use { path } else { nil } }.first
    }
}
