/// Parses the YAML document in a configuration file. It must be the only document in the file.
enum YAMLDocument {
    /// Returns the document's root node.
    ///
    /// - Parameter needed: The required key, for the message about an empty file.
    /// - Throws: ``ConfigurationProblem`` if the text is not a single YAML document with a root, or if it has a
    ///   duplicate key.
    static func root(of text: String, needed: String, problems: ConfigurationProblems) throws(ConfigurationProblem)
        -> YAMLValue
    {
        let root: YAMLNode?
        do throws(YAMLError) {
            root = try YAMLParser.root(of: text, maximumNodes: maximumValues)
        } catch {
            throw problem(error, in: text)
        }
        guard let root else { throw at(1, 1, "the file is empty; it needs '\(needed)'", .missingKey) }
        return YAMLValue(node: root, path: "", problems: problems)
    }

    private static func problem(_ error: YAMLError, in text: String) -> ConfigurationProblem {
        switch error {
        case .duplicateKey(let key, let position):
            let message = "'\(key.prefix(64))' occurs twice in one mapping, first here; keep one"
            return at(position.line, position.column, message, .duplicateKey)
        case .syntax(let problem, let position):
            let advice = unquotedBraces(in: text, line: position.line)
                .map { "quote text that has braces: \"\($0)\"" }
            let isUnexpected = problem.hasPrefix("did not find expected")
            let form =
                advice.map { "; \($0)" }
                ?? (isUnexpected ? "; is the line indented like the lines above it?" : "")
            var found = at(position.line, position.column, "not YAML: \(problem)\(form)")
            found.advice = advice
            return found
        case .unreadable(let problem, let offset):
            let lines = text.utf8.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let column = lines.last.map { String(Substring($0)).unicodeScalars.count } ?? 0
            return at(lines.count, column + 1, "not YAML: \(problem)")
        case .tooManyValues:
            return at(1, 1, "the aliases stand for too many values; write fewer of them")
        case .outOfMemory:
            return at(1, 1, "not YAML")
        }
    }

    /// Returns the first text in a line that continues with `{`, such as `push/{device}` in `[push/{device}]`. Between
    /// brackets, YAML ends a text at a brace, so the text must be quoted.
    private static func unquotedBraces(in text: String, line: Int) -> String? {
        let lines = text.split(separator: "\n", maxSplits: line, omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return nil }
        let words = lines[line - 1].prefix(1_000).split { " [],\"'\r\t".contains($0) }
        return words.first { $0.contains("/{") }.map { String($0.prefix(100)) }
    }

    /// The maximum number of values in a document whose aliases are replaced. Without aliases, no file of the allowed
    /// size has more.
    private static let maximumValues = FileContent.configurationLimit

    private static func at(_ line: Int, _ column: Int, _ message: String, _ code: ProblemCode = .notYAML)
        -> ConfigurationProblem
    {
        ConfigurationProblem(line: line, column: column, path: "", code: code, message: message)
    }
}
