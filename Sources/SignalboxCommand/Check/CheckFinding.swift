/// A mistake or doubt, and the file it is in.
struct CheckFinding: Sendable, Hashable {
    /// As the user named it.
    let file: String
    let problem: ConfigurationProblem

    /// `FILE:LINE:COLUMN: SEVERITY: PATH: MESSAGE [CODE]` with a newline, as compilers write it and editors read it.
    var line: [UInt8] {
        let place = "\(file):\(problem.line):\(problem.column): \(problem.severity.rawValue): "
        let path = problem.path.isEmpty ? "" : "\(problem.path): "
        return Array((LineEscape.escaped("\(place)\(path)\(problem.message)") + " [\(problem.code.rawValue)]\n").utf8)
    }

    /// One JSON object with a newline: `file`, `line`, `column`, `path`, `severity`, `code`, `message`, `suggestion`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        object.add("file", file)
        object.add("line", problem.line)
        object.add("column", problem.column)
        object.add("path", problem.path)
        object.add("severity", problem.severity.rawValue)
        object.add("code", problem.code.rawValue)
        object.add("message", problem.message)
        object.add("suggestion", problem.suggestion)
        return object.line
    }
}
