import SignalboxCore

/// Where the parts of a configuration stand, for what can be said of them only when all are known.
final class ConfigurationPlaces {
    /// The keys below `sources`.
    var sources: [SourceName: YAMLValue] = [:]
    /// The actions of the plugins.
    var plugins: [ActionName: YAMLValue] = [:]
    /// The entries of each plugin's `from`, in their order.
    var rules: [ActionName: [YAMLValue]] = [:]
    /// The actions that topics and routes name for good, and where.
    var actions: [(name: ActionName, value: YAMLValue)] = []
}
