import Yams

/// The one document of a configuration file.
enum YAMLDocument {
    /// - Parameter needed: the key that an empty file is told to have.
    /// - Throws: a ``ConfigurationProblem`` when the text is not one YAML document with a root.
    static func root(of text: String, needed: String, problems: ConfigurationProblems) throws(ConfigurationProblem)
        -> YAMLValue
    {
        do {
            guard let node = try compose(yaml: text) else {
                throw ConfigurationProblem(
                    line: 1,
                    column: 1,
                    path: "",
                    message: "the file is empty; it needs '\(needed)'"
                )
            }
            return YAMLValue(node: node, path: "", problems: problems)
        } catch let problem as ConfigurationProblem {
            throw problem
        } catch let error as YamlError {
            throw problem(error, in: text)
        } catch {
            throw ConfigurationProblem(line: 1, column: 1, path: "", message: "not YAML")
        }
    }

    private static func problem(_ error: YamlError, in text: String) -> ConfigurationProblem {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return at(mark.line, mark.column, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let message = "\(list(keys)) written twice in one mapping, first here; keep one"
            return at(context.mark.line, context.mark.column, message)
        case .reader(let problem, let offset, _, _):
            let lines = text.prefix(offset ?? 0).split(separator: "\n", omittingEmptySubsequences: false)
            return at(lines.count, (lines.last?.unicodeScalars.count ?? 0) + 1, "not YAML: \(problem)")
        default:
            return at(1, 1, "not YAML")
        }
    }

    private static func at(_ line: Int, _ column: Int, _ message: String) -> ConfigurationProblem {
        ConfigurationProblem(line: line, column: column, path: "", message: message)
    }

    private static func list(_ keys: [String]) -> String {
        keys.map { "'\($0)'" }.joined(separator: " and ") + (keys.count == 1 ? " is" : " are")
    }
}
