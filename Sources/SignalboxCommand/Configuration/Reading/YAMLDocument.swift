import Yams

/// The one document of a configuration file.
enum YAMLDocument {
    /// - Throws: a ``ConfigurationProblem`` when the text is not one YAML document with a root.
    static func root(of text: String, problems: ConfigurationProblems) throws(ConfigurationProblem) -> YAMLValue {
        do {
            guard let node = try compose(yaml: text) else {
                throw ConfigurationProblem(line: 1, column: 1, path: "", message: "the file is empty; it needs 'sources'")
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
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _):
            at(mark, "not YAML: \(problem)")
        case .composer(_, let problem, let mark, _):
            at(mark, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            at(context.mark, "\(list(keys)) written twice in one mapping, first here; keep one")
        case .reader(let problem, let offset, _, _):
            at(mark(ofCharacter: offset ?? 0, in: text), "not YAML: \(problem)")
        default:
            at(Mark(line: 1, column: 1), "not YAML")
        }
    }

    private static func at(_ mark: Mark, _ message: String) -> ConfigurationProblem {
        ConfigurationProblem(line: mark.line, column: mark.column, path: "", message: message)
    }

    private static func list(_ keys: [String]) -> String {
        keys.map { "'\($0)'" }.joined(separator: " and ") + (keys.count == 1 ? " is" : " are")
    }

    private static func mark(ofCharacter offset: Int, in text: String) -> Mark {
        let before = text.prefix(offset)
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return Mark(line: lines.count, column: (lines.last?.unicodeScalars.count ?? 0) + 1)
    }
}
