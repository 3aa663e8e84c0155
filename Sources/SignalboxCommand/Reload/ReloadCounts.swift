/// How often a running program was asked to read its configuration anew, by what came of it.
struct ReloadCounts: Sendable, Hashable {
    /// The new configuration is in use.
    var taken = 0
    /// The old configuration went on.
    var refused = 0

    /// For the last line of a run; `nil` when it was never asked to.
    var description: String? {
        taken + refused == 0 ? nil : "configuration read anew \(taken + refused), of these refused \(refused)"
    }
}
