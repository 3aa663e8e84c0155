import Yams

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
        do {
            guard let node = try compose(yaml: text) else {
                throw at(1, 1, "the file is empty; it needs '\(needed)'", .missingKey)
            }
            guard YAMLDocument.count(node, upTo: maximumValues) < maximumValues else {
                throw at(1, 1, "the aliases stand for too many values; write fewer of them")
            }
            return YAMLValue(node: node, path: "", problems: problems)
        } catch let problem as ConfigurationProblem {
            throw problem
        } catch let error as YamlError {
            throw problem(error, in: text)
        } catch {
            throw at(1, 1, "not YAML")
        }
    }

    private static func problem(_ error: YamlError, in text: String) -> ConfigurationProblem {
        switch error {
        case .duplicatedKeysInMapping(let keys, let context):
            let message = "'\((keys.first ?? "").prefix(64))' occurs twice in one mapping, first here; keep one"
            return at(context.mark.line, context.mark.column, message, .duplicateKey)
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            let advice = unquotedBraces(in: text, line: mark.line).map { "quote text that has braces: \"\($0)\"" }
            let isUnexpected = problem.hasPrefix("did not find expected")
            let form =
                advice.map { "; \($0)" }
                ?? (isUnexpected ? "; is the line indented like the lines above it?" : "")
            var found = at(mark.line, mark.column, "not YAML: \(problem)\(form)")
            found.advice = advice
            return found
        case .reader(let problem, let offset, _, _):
            let lines = text.prefix(offset ?? 0).split(separator: "\n", omittingEmptySubsequences: false)
            return at(lines.count, (lines.last?.unicodeScalars.count ?? 0) + 1, "not YAML: \(problem)")
        default:
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

    /// Returns how many values the node consists of. Counting stops at the limit, because a few aliases of aliases can
    /// stand for billions of values.
    private static func count(_ node: Node, upTo limit: Int) -> Int {
        let parts: [Node] =
            switch node {
            case .mapping(let mapping): mapping.flatMap { [$0.key, $0.value] }
            case .sequence(let sequence): Array(sequence)
            case .scalar, .alias: []
            }
        var total = 1
        for part in parts where total < limit { total += count(part, upTo: limit - total) }
        return total
    }

    private static func at(_ line: Int, _ column: Int, _ message: String, _ code: ProblemCode = .notYAML)
        -> ConfigurationProblem
    {
        ConfigurationProblem(line: line, column: column, path: "", code: code, message: message)
    }
}
