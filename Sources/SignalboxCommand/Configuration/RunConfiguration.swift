import NavigationChain
import Signalbox
import SignalboxCore

/// The validated content of a configuration file.
struct RunConfiguration: Sendable {
    /// The sources in file order. There is at least one, unless the command only needs the navigation chain.
    var sources: [SourceSection] = []
    /// The plugins in file order. Each action has at most one plugin.
    var plugins: [PluginSection] = []
    /// The line of each plugin's `from` in the file, for advice.
    var ruleLines: [ActionName: Int] = [:]
    /// The limits for each message. They apply to every source.
    var limits = MessageLimits()
    /// The limits and timeouts for the whole program.
    var supervisor = SupervisorConfiguration()
    /// The store, or `nil` to keep all messages in memory. Only `run`, `serve` and the commands about stores open it.
    var store: StoreSection?
    /// Where the program answers questions about itself, or `nil` if it does not.
    var observe: ObserveSection?
    /// Where commands ask the running program, or `nil` if they cannot.
    var control: ControlSection?
    /// Where the program exports its traces and metrics, or `nil` if it does not.
    var otlp: OTLPSection?
    /// How long the end of the program waits for a slow reader of stdout. Lines that wait longer are lost.
    var outputWait = StandardOutput.flushLimit
    /// Decides which URLs a page may load, or `nil` if there is no navigation chain. The chain opens nothing. The
    /// reason for each decision says what would have been opened.
    var navigation: NavigationRouter?
    /// The examples in the file. Only `test` and `check` read them.
    var tests: [ConfigurationTest] = []
    /// The path of the file with the examples, if the configuration names one.
    var testFile: String?
    /// The warnings that `run` also logs. They concern former key names, and secrets that other users can read.
    var warnings: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The sources that plugins send to.
    var targets: Set<SourceName> { plugins.reduce(into: []) { $0.formUnion($1.targets) } }

    /// The path of the first `file` plugin's append log, or `nil` if there is no such plugin.
    var firstAppendLog: String? {
        plugins.lazy.flatMap(\.use.parts).compactMap { if case .file(let path) = $0 { path } else { nil } }.first
    }
}
