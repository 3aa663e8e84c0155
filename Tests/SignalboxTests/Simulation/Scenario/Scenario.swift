import Signalbox

/// All that happens to a supervisor in one simulated run, except in which order what is ready at the same time goes on.
///
/// Times are in ticks of the supervisor's timer, from the beginning of the run.
struct Scenario: Sendable {
    var seed: UInt64 = 0
    var sources: [SourceScenario]
    /// What is registered at the beginning: of each action at most one.
    var plugins: [PluginScenario]
    /// What can be sent. One that is sent twice is a repeat.
    var messages: [MessageScenario]
    var disturbances: [Disturbance] = []
    /// Before that, what is sent waits in the windows.
    var opensAt = 0
    var ending = Ending.whenIdle
    var timeout = 30
    var drainLimit = 100
    var holdLimit = 50
    var deadLetters = DeadLetterLimits()

    /// How the run ends.
    enum Ending: Sendable, Hashable {
        /// A graceful shutdown when everything sent is settled, or late in the run.
        case whenIdle
        case shutDown(at: Int)
        case cancel(at: Int)
    }

    /// When a run that would go on is shut down.
    static let latestEnd = 200
}
