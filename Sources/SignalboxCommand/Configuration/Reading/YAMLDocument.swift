import Yams

/// The only document of a configuration file.
enum YAMLDocument {
    /// The maximum number of duplicate keys before the reader gives up.
    private static let maximumDuplicates = 100

    /// Returns the root node. A duplicate key is reported and its last value used, so that other errors are found too.
    ///
    /// - Parameter needed: The required key, for the message about an empty file.
    /// - Throws: ``ConfigurationProblem`` if the text is not a single YAML document with a root.
    static func root(of text: String, needed: String, problems: ConfigurationProblems) throws(ConfigurationProblem)
        -> YAMLValue
    {
        var text = text
        for number in 0..<maximumDuplicates {
            do {
                guard let node = try compose(yaml: text) else {
                    throw ConfigurationProblem(
                        line: 1,
                        column: 1,
                        path: "",
                        code: .missingKey,
                        message: "the file is empty; it needs '\(needed)'"
                    )
                }
                return YAMLValue(node: node, path: "", problems: problems)
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                let problem = duplicate(keys, context.mark)
                guard let mask = DuplicateKeyMask(of: keys.first ?? "", at: context.mark, number: number, in: text)
                else {
                    throw problem
                }
                problems.add(problem)
                problems.mask(mask.key)
                text = mask.text
            } catch let problem as ConfigurationProblem {
                throw problem
            } catch let error as YamlError {
                throw problem(error, in: text)
            } catch {
                throw at(1, 1, "not YAML")
            }
        }
        throw at(1, 1, "more than \(maximumDuplicates) keys occur twice", .duplicateKey)
    }

    private static func duplicate(_ keys: [String], _ mark: Mark) -> ConfigurationProblem {
        let message = "'\((keys.first ?? "").prefix(64))' occurs twice in one mapping, first here; keep one"
        return at(mark.line, mark.column, message, .duplicateKey)
    }

    private static func problem(_ error: YamlError, in text: String) -> ConfigurationProblem {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return at(mark.line, mark.column, "not YAML: \(problem)")
        case .reader(let problem, let offset, _, _):
            let lines = text.prefix(offset ?? 0).split(separator: "\n", omittingEmptySubsequences: false)
            return at(lines.count, (lines.last?.unicodeScalars.count ?? 0) + 1, "not YAML: \(problem)")
        default:
            return at(1, 1, "not YAML")
        }
    }

    private static func at(_ line: Int, _ column: Int, _ message: String, _ code: ProblemCode = .notYAML)
        -> ConfigurationProblem
    {
        ConfigurationProblem(line: line, column: column, path: "", code: code, message: message)
    }
}

/// A file in which one of two equal keys is renamed to a name of equal length, so that the rest can be parsed.
struct DuplicateKeyMask {
    /// The whole file.
    let text: String
    /// The new name of the key: private-use characters, which no real key consists of.
    let key: String

    /// - Parameters:
    ///   - key: The duplicate key.
    ///   - mark: The position of its first occurrence.
    ///   - number: The number of keys of the file that are already masked, below 1,000.
    /// - Returns: `nil` if the file does not contain the key literally at `mark`, for example because of escapes.
    init?(of key: String, at mark: Mark, number: Int, in text: String) {
        var scalars = Array(text.unicodeScalars)
        let wanted = Array(key.unicodeScalars)
        guard let line = DuplicateKeyMask.start(ofLine: mark.line, in: scalars), !wanted.isEmpty, mark.column >= 1,
            let first = Unicode.Scalar(0xE000 + UInt32(number)), let filler = Unicode.Scalar(0xF8FF as UInt32)
        else { return nil }
        var start = line + mark.column - 1
        if start < scalars.count, ["'", "\""].contains(scalars[start]) { start += 1 }
        guard start + wanted.count <= scalars.count, scalars[start..<(start + wanted.count)].elementsEqual(wanted)
        else {
            return nil
        }
        let mask = [first] + repeatElement(filler, count: wanted.count - 1)
        scalars.replaceSubrange(start..<(start + wanted.count), with: mask)
        self.key = DuplicateKeyMask.string(mask)
        self.text = DuplicateKeyMask.string(scalars)
    }

    private static func start(ofLine line: Int, in scalars: [Unicode.Scalar]) -> Int? {
        guard line > 1 else { return line == 1 ? 0 : nil }
        var seen = 1
        for (position, scalar) in scalars.enumerated() where scalar == "\n" {
            seen += 1
            if seen == line { return position + 1 }
        }
        return nil
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
