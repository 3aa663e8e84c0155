import ArgumentParser

/// The options that limit how many messages a command shows, and for how long.
struct LimitArguments: ParsableArguments {
    @Option(help: "End after this many messages.")
    var count: Int?

    @Option(help: "End after this time: \(TimeoutOption.form).", transform: TimeoutOption.duration)
    var timeout: Duration?

    /// Whether the user set a success condition. Without one, the command succeeds no matter how it ends.
    var isSet: Bool { count != nil || timeout != nil }
    /// The number of messages that the command must show to succeed.
    var required: Int { count ?? 1 }

    func validate() throws {
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be at least 1") }
    }
}

/// The options that select one of the sources in a configuration.
struct SourceArguments: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration whose plugins are called.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The name of the source in the configuration.", valueName: "name"))
    var source: String?

    func validate() throws {
        guard source == nil || config != nil else {
            throw ValidationError("--source names a source of a configuration; add --config")
        }
    }
}
