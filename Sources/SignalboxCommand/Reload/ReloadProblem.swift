import Logging

/// Why a new configuration is not taken over: one of perhaps several reasons.
struct ReloadProblem: Error, Sendable, Hashable {
    /// The file, and where in it: `FILE:LINE:COLUMN` where that is known.
    let place: String
    /// The key, such as `plugins[0].use`; empty when the whole file is meant.
    let key: String
    /// The word for programs, where the mistake has one.
    let code: ProblemCode?
    /// What is wrong, and what to write instead where that is known.
    let message: String

    /// A mistake that `signalbox check` tells too.
    init(_ problem: ConfigurationProblem, in file: String) {
        place = "\(file):\(problem.line):\(problem.column)"
        key = problem.path
        code = problem.code
        message = problem.message
    }

    /// What shows only when the program does what the configuration says.
    ///
    /// - Parameter key: the part of the configuration it is about.
    init(_ error: any Error, key: String, in file: String) {
        place = file
        self.key = key
        code = nil
        message = "\(error)"
    }

    /// What its log line has beside its message.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "at": "\(place)", "problem": "\(message)",
            "advice": "the old configuration goes on; correct this and send SIGHUP again",
        ]
        if !key.isEmpty { metadata["key"] = "\(key)" }
        if let code { metadata["code"] = "\(code.rawValue)" }
        return metadata
    }
}
