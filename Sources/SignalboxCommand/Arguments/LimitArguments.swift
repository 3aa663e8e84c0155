import ArgumentParser

/// The options that limit how many messages a command shows, and for how long.
struct LimitArguments: ParsableArguments {
    @Option(name: [.customShort("C"), .customLong("count")], help: "End after this many messages.")
    var count: Int?

    @Option(
        name: [.customShort("W"), .customLong("timeout")],
        help: "End after this time: \(TimeoutOption.form).",
        transform: TimeoutOption.duration
    )
    var timeout: Duration?

    /// Whether the user set a success condition. Without one, the command succeeds no matter how it ends.
    var isSet: Bool { count != nil || timeout != nil }
    /// The number of messages that the command must show to succeed.
    var required: Int { count ?? 1 }

    func validate() throws {
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be at least 1") }
    }
}
