import HTTPActions
import MQTTPush
import NavigationChain
import Signalbox
import SignalboxRoutes
import WebSocketChat

/// A YAML node with its key path. Use its methods to read typed values.
///
/// Methods that return an optional report a problem before they return `nil`.
struct YAMLValue {
    let node: YAMLNode
    /// The key path, such as `plugins[0].from`.
    let path: String
    let problems: ConfigurationProblems

    /// Reports an error at this value.
    ///
    /// - Parameters:
    ///   - suggestion: The exact text that should replace this key or value, if it is known.
    ///   - advice: What to write, in words.
    func reportError(
        _ message: @autoclosure () -> String,
        _ code: ProblemCode = .invalidValue,
        suggestion: @autoclosure () -> String? = nil,
        advice: String? = nil
    ) {
        report(code, .error, message, suggestion, advice)
    }

    /// Reports an error at this value and returns `nil`, so that a reader without a value can return the result of this
    /// call.
    func refused<Value>(
        _ message: @autoclosure () -> String,
        _ code: ProblemCode = .invalidValue,
        suggestion: @autoclosure () -> String? = nil,
        advice: String? = nil
    ) -> Value? {
        report(code, .error, message, suggestion, advice)
        return nil
    }

    /// Reports an error about an unknown name and returns `nil`. The error suggests the closest known name.
    ///
    /// - Parameter message: Returns the message. The argument is `; did you mean 'x'?` or an empty string.
    func refused<Value>(
        _ name: String,
        among known: [String],
        _ code: ProblemCode = .invalidValue,
        _ message: (_ advice: String) -> String
    ) -> Value? {
        refused(
            message(NameSuggestion.advice(for: name, among: known)),
            code,
            suggestion: NameSuggestion.nearest(to: name, among: known)
        )
    }

    /// Reports a warning about a value that is valid but probably does not do what its author intended.
    ///
    /// - Parameters:
    ///   - suggestion: The exact text that should replace this key or value, if it is known.
    ///   - advice: What to write, in words.
    func warn(
        _ message: @autoclosure () -> String,
        _ code: ProblemCode,
        suggestion: @autoclosure () -> String? = nil,
        advice: String? = nil
    ) {
        report(code, .warning, message, suggestion, advice)
    }

    /// Reports a problem. The path and message may quote the file, so any text that looks like a secret is redacted. A
    /// message about a missing file quotes only the file's name and an error of the system.
    private func report(
        _ code: ProblemCode,
        _ severity: ProblemSeverity,
        _ message: () -> String,
        _ suggestion: () -> String?,
        _ advice: String?
    ) {
        problems.add(code, severity) {
            ConfigurationProblem(
                line: line,
                column: node.position.column,
                path: Redaction.redacted(path),
                severity: severity,
                code: code,
                message: code == .missingFile
                    ? NamedFileError.shown(message()) : Redaction.redacted(message()),
                suggestion: suggestion(),
                advice: advice
            )
        }
    }

    /// Reads a mapping. The keys that `read` looks up are valid, and all others are refused.
    ///
    /// - Parameters:
    ///   - name: What the mapping is called in docs/configuration.schema.json.
    ///   - read: Reads the mapping. Before this closure returns, it must look up every key that the mapping may have,
    ///     whatever the file contains.
    func mapping<Target>(_ name: String, _ read: (YAMLMapping) -> Target?) -> Target? {
        guard let mapping = anyMapping(YAMLMapping.examples[name]) else { return nil }
        let target = read(mapping)
        mapping.finish(name)
        return target
    }

    /// Reads a mapping in which every key is optional.
    ///
    /// - Parameters:
    ///   - name: What the mapping is called in docs/configuration.schema.json.
    ///   - defaults: The settings to use if the mapping has no keys.
    ///   - read: Looks up every key that the mapping may have, and stores the values.
    func mapping<Target>(
        _ name: String,
        changing defaults: Target,
        _ read: (YAMLMapping, inout Target) -> Void
    ) -> Target? {
        mapping(name) { keys in
            var target = defaults
            read(keys, &target)
            return target
        }
    }

    /// Returns a mapping that may have any keys.
    ///
    /// - Parameter example: A valid mapping, for the message about another value.
    func anyMapping(_ example: String? = nil) -> YAMLMapping? {
        guard case .mapping(let pairs) = node.content else {
            let form = example.map { "; write \($0)" } ?? ""
            return refused("expected a mapping of keys to values, found \(typeDescription)\(form)", advice: example)
        }
        return YAMLMapping(self, pairs)
    }

    /// Returns the elements of a list. A scalar or a mapping stands for a list of one element.
    ///
    /// - Parameter example: The key with a valid value, for the message about a missing value.
    func elements(_ example: String) -> [YAMLValue]? {
        if isList { return list() }
        guard !isNull else { return refused("expected a list, found nothing; write \(example)", advice: example) }
        return [self]
    }

    /// Returns the elements of a list.
    func list() -> [YAMLValue]? {
        guard case .sequence(let elements) = node.content else {
            return refused("expected a list, found \(typeDescription)")
        }
        return elements.enumerated().map { YAMLValue(node: $1, path: "\(path)[\($0)]", problems: problems) }
    }

    /// Returns text that is not empty. A number or a word such as `on` must be quoted, because YAML would otherwise
    /// give it a different type.
    func text() -> String? {
        guard let text = anyText() else { return nil }
        guard !text.isEmpty else {
            return refused("expected text, found empty text")
        }
        return text
    }

    /// Returns text that may be empty.
    func anyText() -> String? {
        guard let text = node.scalar, node.tag == .text else {
            let advice = node.scalar != nil && !isNull ? "; quote it if it is text" : ""
            return refused("expected text, found \(typeDescription)\(advice)")
        }
        return text
    }

    /// Whether the value is a mapping.
    var isMapping: Bool { if case .mapping = node.content { true } else { false } }

    /// Whether the value is a list.
    var isList: Bool { if case .sequence = node.content { true } else { false } }

    /// The keys of a mapping, or `nil` if this is not a mapping. A key that is not text becomes an empty string.
    var keys: [String]? {
        guard case .mapping(let pairs) = node.content else { return nil }
        return pairs.map { $0.key.scalar ?? "" }
    }

    /// The line where the value begins, counted from 1.
    var line: Int { node.position.line }

    /// Whether the value is null or missing.
    var isNull: Bool { node.tag == .null }

    /// The characters of a scalar, whatever type YAML gives it.
    var characters: String? {
        isNull ? nil : node.scalar
    }

    /// Describes the type of the value. The description does not repeat text, because the text may be a misplaced
    /// secret.
    var typeDescription: String {
        switch node.content {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .scalar(let text):
            switch node.tag {
            case .null: "nothing"
            case .int, .float: "the number \(text.prefix(40))"
            case .bool: "the boolean \(text.prefix(40))"
            case .timestamp: "a date"
            case .text, .other: "text"
            }
        }
    }
}

extension YAMLValue {
    /// Returns a whole number that is written in decimal digits.
    func integer(_ range: ClosedRange<Int>) -> Int? {
        guard let number = characters.flatMap(SizeText.digits) else {
            return refused("expected a whole number, found \(typeDescription)")
        }
        guard range.contains(number) else {
            return refused("expected \(range.lowerBound) to \(range.upperBound), found \(number)")
        }
        return number
    }

    /// Returns a number from 0 to 1 that is written in decimal digits, such as 0.25.
    func share() -> Double? {
        guard let number = characters.flatMap(YAMLValue.decimal) else {
            return refused("expected a number from 0 to 1, found \(typeDescription)")
        }
        guard number <= 1 else { return refused("expected 0 to 1, found \(number)") }
        return number
    }

    /// Returns the value of ASCII digits, with or without a decimal point between them.
    private static func decimal(_ text: String) -> Double? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isASCIIDigit) } ? Double(text) : nil
    }

    /// Returns a number of bytes. It is written in digits, optionally followed by `KiB`, `MiB` or `GiB`.
    func size(_ range: ClosedRange<Int>) -> Int? {
        let bytes = quantity("a size such as 64KiB") { try SizeText.bytes(in: $0) }
        guard let bytes, !range.contains(bytes) else { return bytes }
        return refused("expected \(range.lowerBound) to \(range.upperBound) bytes, found \(bytes)")
    }

    /// Returns a duration. It is written in digits followed by a unit.
    func duration(_ range: ClosedRange<Duration>) -> Duration? {
        let duration = quantity("a duration such as 3s") { try DurationText.duration(in: $0) }
        guard let duration, !range.contains(duration) else { return duration }
        return refused("expected \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))")
    }

    private func quantity<Value>(_ form: String, _ make: (String) throws -> Value) -> Value? {
        guard let characters else {
            return refused("expected \(form), found \(typeDescription)")
        }
        return checked { try make(characters) }
    }

    /// Returns a Boolean that is written as `true` or `false`. YAML's other words for Booleans are refused.
    func flag() -> Bool? {
        switch characters {
        case "true": return true
        case "false": return false
        default:
            guard let characters, node.tag == .bool else {
                return refused("expected true or false, found \(typeDescription)")
            }
            let isTrue = ["y", "yes", "on", "true"].contains(characters.lowercased())
            return refused("write true or false, not \(characters)", suggestion: "\(isTrue)")
        }
    }

    /// Returns whether the value is the keyword.
    func isKeyword(_ keyword: String) -> Bool { characters == keyword }

    /// Returns the value if it is one of the keywords.
    func keyword(of keywords: [String], _ meaning: String) -> String? {
        let list = keywords.joined(separator: ", ")
        guard let characters else {
            return refused("expected \(meaning): \(list); found \(typeDescription)")
        }
        guard !keywords.contains(characters) else { return characters }
        return refused(characters, among: keywords) {
            "'\(characters.prefix(64))' is not \(meaning); expected \(list)\($0)"
        }
    }

    /// Returns the choice that the keyword stands for.
    func keyword<Choice>(_ choices: KeyValuePairs<String, Choice>, _ meaning: String) -> Choice? {
        let keyword = keyword(of: choices.map(\.key), meaning)
        return choices.first { $0.key == keyword }?.value
    }

    /// Returns the enumeration case whose raw value is the keyword.
    func keyword<Choice: RawRepresentable<String> & CaseIterable>(_ meaning: String) -> Choice? {
        keyword(of: Choice.allCases.map(\.rawValue), meaning).flatMap(Choice.init(rawValue:))
    }

    /// Calls `make` with the text and returns the result. If `make` throws an error, this method reports it.
    func parsed<Value>(_ code: ProblemCode = .invalidValue, _ make: (String) throws -> Value) -> Value? {
        text().flatMap { text in checked(code) { try make(text) } }
    }

    /// Returns the result of `make`. If `make` throws an error, this method reports it.
    func checked<Value>(_ code: ProblemCode = .invalidValue, _ make: () throws -> Value) -> Value? {
        do {
            return try make()
        } catch {
            return refused((error as? any DetailedError)?.detail ?? "\(error)", code)
        }
    }

    /// Calls `check` and reports the error that it throws. Use this for the checks of an adapter, for example.
    ///
    /// - Returns: Whether the check succeeded.
    @discardableResult
    func check(_ code: ProblemCode = .invalidValue, _ check: () throws -> Void) -> Bool {
        checked(code, check) != nil
    }

    /// Returns the elements of a list, or `nil` if any of them has an error.
    func all<Element>(_ read: (YAMLValue) -> Element?) -> [Element]? {
        guard let list = list() else { return nil }
        let elements = list.compactMap(read)
        return elements.count == list.count ? elements : nil
    }
}

/// An error whose description starts with the name of the setting. The key path of a problem already contains that
/// name.
private protocol DetailedError: Error {
    /// The description without the setting's name.
    var detail: String { get }
}

extension MQTTPushError: DetailedError {}
extension WebSocketChatError: DetailedError {}
extension HTTPActionError: DetailedError {}
extension NavigationChainError: DetailedError {}
