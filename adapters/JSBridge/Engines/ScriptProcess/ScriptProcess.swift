/// A separate process for a page's scripts.
///
/// Inside the program, a script's memory is bounded only when the engine checks it, and a single call into the engine, such as
/// sorting a huge array, can be neither interrupted nor bounded. A process can be killed: when its resident memory, checked 20
/// times a second, exceeds a limit, when its page is closed, and when the program ends. Of the environment it inherits only the
/// language, the time zone and the search paths; it has no file but standard error, and one socket.
public struct ScriptProcess: Sendable, Hashable {
    /// The absolute path of the program, which must call ``ScriptWorker/serve()`` first.
    public var program: String
    /// The program's arguments.
    public var arguments: [String]
    /// The maximum resident memory in bytes, at least 64 MiB; 512 MiB by default. The library itself takes about 60 MiB. A page
    /// whose process exceeds it ends with ``JSBridgeError/Code/heapLimit``.
    public var memoryLimit = 512 << 20

    /// A process that runs this program.
    public init(program: String, arguments: [String] = []) {
        self.program = program
        self.arguments = arguments
    }
}
