/// A separate process that runs a page's scripts.
///
/// Use a separate process when the scripts must not be able to exhaust the program's memory. Inside the program, the
/// memory is bounded only when the engine checks it, and a single call into JavaScriptCore, such as sorting a huge
/// array, can be neither interrupted nor bounded.
///
/// A separate process, in contrast, can be killed at any time. It is killed when:
/// - its resident memory exceeds a limit, which is checked 20 times a second,
/// - its page is closed, or
/// - the program ends.
///
/// The process inherits only the language, the time zone and the search paths from the environment. Its only open files
/// are standard error and one socket.
///
/// ```swift
/// var process = ScriptProcess(program: "/usr/local/bin/page-worker")
/// process.memoryLimit = 128 << 20
/// configuration.process = process
/// ```
public struct ScriptProcess: Sendable, Hashable {
    /// The absolute path of the program that the process runs. The first thing that this program does must be to call
    /// ``ScriptWorker/serve()``.
    public var program: String
    /// The arguments of the program that the process runs.
    public var arguments: [String]
    /// The maximum resident memory of the process, in bytes. Must be at least 64 MiB; the default is 512 MiB.
    ///
    /// JavaScriptCore alone takes about 60 MiB. If the process exceeds the limit, its page ends with
    /// ``JSBridgeError/Code/heapLimit``.
    public var memoryLimit = 512 << 20

    /// Creates a configuration that runs the given program.
    public init(program: String, arguments: [String] = []) {
        self.program = program
        self.arguments = arguments
    }
}
