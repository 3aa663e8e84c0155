import NavigationChain
import Signalbox
import SignalboxCore

/// The validated content of a configuration file.
struct RunConfiguration: Sendable {
    /// The sources in file order. There is at least one, unless the command needs only the navigation chain.
    var sources: [SourceSection] = []
    /// The plugins in file order. Each action has at most one plugin.
    var plugins: [PluginSection] = []
    /// The limits of one message, which apply to every source.
    var limits = MessageLimits()
    /// The limits and timeouts of the whole program.
    var supervisor = SupervisorConfiguration()
    /// The chain that decides which URLs a page may load, or `nil` if there is no chain. The chain opens nothing, but
    /// the reasons for its decisions say what would be opened.
    var navigation: NavigationRouter?
    /// The warnings that `run` also logs. They concern secrets that other users can read, and former names of keys.
    var warnings: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The path of the append log of the first `file` plugin, or `nil` if there is no such plugin.
    var firstAppendLog: String? {
        plugins.lazy.compactMap { if case .file(let path) = $0.use { path } else { nil } }.first
    }
}
