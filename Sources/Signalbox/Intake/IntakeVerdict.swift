import SignalboxCore

/// Arrivals decided while routing, to be settled once the intake's lock is released.
struct IntakeVerdict: Sendable {
    let run: LaneRun
    let outcome: Outcome
    /// The plugin they were meant for, or `nil` when none was found.
    let plugin: PluginEntry?
    /// Whether they repeat what was handled before.
    var isRepeat = false
}
