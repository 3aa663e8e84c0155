import JSBridge

/// Reads a page's scripts.
enum ScriptFiles {
    /// Returns the scripts in the order of `paths`.
    ///
    /// - Throws: ``NamedFileError`` for the first script that is missing, too large or not UTF-8.
    static func read(_ paths: [String]) throws(NamedFileError) -> [PageScript] {
        try paths.map { path throws(NamedFileError) in
            PageScript(name: path, source: try FileContent.text(of: path, limit: FileContent.scriptLimit))
        }
    }
}

/// Lets this program act as a page's worker process.
enum PageWorker {
    private static let argument = "page-worker"

    /// Whether the program was started as a worker. The argument that requests this is internal, so it is not one of
    /// the commands.
    static var isRequested: Bool { CommandLine.arguments.dropFirst().elementsEqual([argument]) }

    static var process: ScriptProcess {
        #if os(Linux)
        // This path names the running program even if the program's file has been replaced.
        let program = "/proc/self/exe"
        #else
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        #endif
        return ScriptProcess(program: program, arguments: [argument])
    }
}
