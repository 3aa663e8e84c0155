/// What a command reads a configuration for, and so what must be in it.
enum ConfigurationUse: Sendable {
    /// All of it is brought to life.
    case run
    /// All of it is looked at, what it names included, and what is doubtful is told too. Nothing is brought to life.
    case check
    /// Its plugins and routes are used, and no source is run.
    case plugins
    /// Its navigation chain is asked; sources and plugins may be missing.
    case navigation

    /// Whether each source must say where its scripts or links come from.
    var runsSources: Bool { self == .run || self == .check }
}
