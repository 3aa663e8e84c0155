import Foundation
import JSBridge
import SignalboxCore

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

/// Where the scripts of a page run.
enum ScriptPlace: String, Sendable, Hashable, CaseIterable {
    /// In the command's own process.
    case shared
    /// In a separate process, which can be killed whatever they do.
    case own
}

extension ScriptSection {
    /// The page as its engine wants it.
    ///
    /// - Parameters:
    ///   - scripts: what it runs, which need not be ``files``.
    ///   - place: where it runs if the section does not say.
    func page(
        from source: SourceName,
        scripts: [PageScript],
        limits: MessageLimits,
        in place: ScriptPlace = .shared
    ) -> JavaScriptCoreConfiguration {
        var page = JavaScriptCoreConfiguration(source: source, scripts: scripts)
        page.title = title
        page.executionTimeLimit = executionTimeLimit ?? page.executionTimeLimit
        page.heapLimit = heapLimit ?? page.heapLimit
        page.timerLimit = timerLimit ?? page.timerLimit
        page.messagesToPage = messagesToPage ?? page.messagesToPage
        page.messagesWithoutListener = messagesWithoutListener ?? page.messagesWithoutListener
        page.limits = limits
        if (process ?? place) == .own {
            page.process = PageWorker.process
            page.process?.memoryLimit = memoryLimit ?? PageWorker.process.memoryLimit
        }
        return page
    }
}

/// Reads the scripts of a page.
enum ScriptFiles {
    /// The scripts in the order of their paths.
    ///
    /// - Throws: ``NamedFileError`` for the first that is not there, too large or not UTF-8.
    static func read(_ paths: [String]) throws(NamedFileError) -> [PageScript] {
        var scripts: [PageScript] = []
        for path in paths {
            let source = try NamedFileError.text(of: path, limit: FileContent.scriptLimit)
            scripts.append(PageScript(name: path, source: source))
        }
        return scripts
    }
}

/// This program in the role of a page's process.
enum PageWorker {
    private static let word = "page-worker"

    /// Whether the program was started as one. The word is internal, so it is not a command.
    static var isAskedFor: Bool { CommandLine.arguments.dropFirst().elementsEqual([word]) }

    static var process: ScriptProcess {
        #if os(Linux)
        // The running program even if its file was replaced meanwhile.
        let program = "/proc/self/exe"
        #else
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        #endif
        return ScriptProcess(program: program, arguments: [word])
    }
}
