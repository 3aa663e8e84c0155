/// What a plugin does in one call.
enum PluginAct: Sendable, Hashable {
    case returns
    /// Lets others go first, so many times.
    case yields(Int)
    /// Returns after so many ticks, maybe after its timeout.
    case waits(Int)
    case fails(retryable: Bool, after: Int)
    /// Returns only when the run is over.
    case hangs
    /// Delivers another message through a source and awaits its outcome.
    case delivers(message: Int, through: Int)

    /// A sync plugin does not wait.
    var withoutWaiting: PluginAct {
        if case .fails(let retryable, _) = self { .fails(retryable: retryable, after: 0) } else { .returns }
    }
}
