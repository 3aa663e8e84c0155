/// The `script` part of a source. What is `nil` has the page's own default.
struct ScriptSection: Sendable, Hashable {
    /// The scripts that `run` runs, in this order; relative to the working directory.
    var files: [String] = []
    /// What plugins see as the page's title.
    var title: String?
    /// How much processor time one turn may use.
    var executionTimeLimit: Duration?
    /// How much memory the scripts' objects may take, in bytes.
    var heapLimit: Int?
    /// Where the scripts run; `nil` if the command decides: `bridge` gives them a separate process, `run` does not.
    var process: ScriptPlace?
    /// How much resident memory a separate process may take, in bytes.
    var memoryLimit: Int?
    /// The most timers at once.
    var timerLimit: Int?
    /// The most calls and messages that wait for the page.
    var messagesToPage: Int?
    /// The most messages that wait in the page for a listener.
    var messagesWithoutListener: Int?
}
