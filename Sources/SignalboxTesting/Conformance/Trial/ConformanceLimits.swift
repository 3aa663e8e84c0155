import Signalbox

/// What a case wants of the supervisor of one run.
struct ConformanceLimits: Sendable {
    /// The arrivals in the source's window.
    var window = 1_000
    /// The timeout of the plugin that hangs.
    var timeout: Duration = .seconds(3_600)
    /// Whether the plugin that records waits at its gate.
    var isSlow = false
    /// Whether the plugin that hangs does so.
    var hangs = true
    /// Whether the case runs the adapter itself, and not the supervisor.
    var isManual = false
    /// Whether messages that come again are recognised. Not by default, whatever the adapter says: the supervisor would hide
    /// what the adapter delivers twice.
    var repeats = RepeatPolicy.never
}
