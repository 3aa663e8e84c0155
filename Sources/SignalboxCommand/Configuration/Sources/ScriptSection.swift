import Foundation
import JSBridge
import SignalboxCore

/// The `script` part of a source. A property that is `nil` has the page's default.
struct ScriptSection: Sendable, Hashable {
    /// The scripts for `run`, in execution order, relative to the working directory.
    var files: [String] = []
    /// The page's title, as plugins receive it.
    var title: String?
    /// The maximum processor time of one turn of the page's event loop.
    var executionTimeLimit: Duration?
    /// The maximum memory of the scripts' objects, in bytes.
    var heapLimit: Int?
    /// The process that runs the scripts. If `nil`, `bridge` starts a separate process and `run` does not.
    var process: ScriptIsolation?
    /// The maximum resident memory of a separate process, in bytes.
    var memoryLimit: Int?
    /// The maximum number of timers.
    var timerLimit: Int?
    /// The maximum number of calls and messages that wait for the page.
    var messagesToPage: Int?
    /// The maximum number of messages that wait in the page for a listener.
    var messagesWithoutListener: Int?
}

/// The process that runs the scripts of a page.
enum ScriptIsolation: String, Sendable, Hashable, CaseIterable {
    /// The command's process.
    case shared
    /// A separate process, which can be killed whatever the scripts do.
    case own
}

extension ScriptSection {
    /// Returns the engine's configuration of this page.
    ///
    /// - Parameters:
    ///   - scripts: The scripts to run; they may differ from ``files``.
    ///   - isolation: The process to use if the section does not specify one.
    func page(
        from source: SourceName,
        scripts: [PageScript],
        limits: MessageLimits,
        isolation: ScriptIsolation = .shared
    ) -> JavaScriptCoreConfiguration {
        var page = JavaScriptCoreConfiguration(source: source, scripts: scripts)
        page.title = title
        page.executionTimeLimit = executionTimeLimit ?? page.executionTimeLimit
        page.heapLimit = heapLimit ?? page.heapLimit
        page.timerLimit = timerLimit ?? page.timerLimit
        page.messagesToPage = messagesToPage ?? page.messagesToPage
        page.messagesWithoutListener = messagesWithoutListener ?? page.messagesWithoutListener
        page.limits = limits
        if (process ?? isolation) == .own {
            page.process = PageWorker.process
            page.process?.memoryLimit = memoryLimit ?? PageWorker.process.memoryLimit
        }
        return page
    }
}

/// Reads the scripts of a page.
enum ScriptFiles {
    /// Returns the scripts in the order of `paths`.
    ///
    /// - Throws: ``NamedFileError`` for the first script that is missing, too large or not UTF-8.
    static func read(_ paths: [String]) throws(NamedFileError) -> [PageScript] {
        var scripts: [PageScript] = []
        for path in paths {
            let source = try FileContent.text(of: path, limit: FileContent.scriptLimit)
            scripts.append(PageScript(name: path, source: source))
        }
        return scripts
    }
}

/// This program as the worker process of a page.
enum PageWorker {
    private static let argument = "page-worker"

    /// Whether the program was started as a worker. The argument is internal and therefore not a command.
    static var isRequested: Bool { CommandLine.arguments.dropFirst().elementsEqual([argument]) }

    static var process: ScriptProcess {
        #if os(Linux)
        // Names the running program even if its file has been replaced.
        let program = "/proc/self/exe"
        #else
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        #endif
        return ScriptProcess(program: program, arguments: [argument])
    }
}
