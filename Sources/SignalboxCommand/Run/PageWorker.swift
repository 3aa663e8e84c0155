import Foundation
import JSBridge

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
