import SignalboxRoutes

/// Reads expressions. The grammar is in docs/configuration/steps.md.
struct ExpressionParser {
    private let text: [UInt8]
    private var position = 0
    private var depth = 0

    /// Returns the expression that a text consists of.
    ///
    /// - Throws: ``ExpressionError`` if it is malformed, too long or too deep, or compares what can never be equal.
    static func expression(_ text: String) throws(ExpressionError) -> Expression {
        guard text.utf8.count <= Expression.maximumLength else {
            throw ExpressionError("an expression has at most \(Expression.maximumLength) bytes")
        }
        var parser = ExpressionParser(text: Array(text.utf8))
        let found = try parser.expression()
        guard parser.peek() == nil else { throw parser.error("expected 'and', 'or', a comparison or the end") }
        return found
    }

    /// Returns the expression in braces that begins after `start`, and the position after the closing brace.
    static func placeholder(in text: [UInt8], from start: Int) throws(ExpressionError) -> (Expression, end: Int) {
        var parser = ExpressionParser(text: text, position: start)
        let found = try parser.expression()
        guard parser.take("}") else {
            throw parser.error("expected the closing '}' of a placeholder; a brace as text is written '{{' or '}}'")
        }
        return (found, parser.position)
    }

    private init(text: [UInt8], position: Int = 0) {
        self.text = text
        self.position = position
    }

    private mutating func expression() throws(ExpressionError) -> Expression {
        var operands = [try conjunction()]
        while takeWord("or") { operands.append(try conjunction()) }
        return operands.count == 1 ? operands[0] : .any(try conditions(operands))
    }

    private mutating func conjunction() throws(ExpressionError) -> Expression {
        var operands = [try negation()]
        while takeWord("and") { operands.append(try negation()) }
        return operands.count == 1 ? operands[0] : .all(try conditions(operands))
    }

    private mutating func negation() throws(ExpressionError) -> Expression {
        guard takeWord("not") else { return try comparison() }
        try open()
        defer { depth -= 1 }
        return .not(try condition(try negation()))
    }

    private mutating func comparison() throws(ExpressionError) -> Expression {
        let left = try operand()
        guard let comparison = takeComparison() else { return left }
        let start = position
        let right = try operand()
        if let reason = comparison.refusal(left, right) { throw ExpressionError(reason, at: start) }
        if takeComparison() != nil { throw error("a comparison has two sides; join several with 'and'") }
        return .compare(comparison, left, right)
    }

    private mutating func operand() throws(ExpressionError) -> Expression {
        switch peek() {
        case UInt8(ascii: "("):
            position += 1
            try open()
            defer { depth -= 1 }
            let inner = try expression()
            guard take(")") else { throw error("expected ')'") }
            return inner
        case UInt8(ascii: "/"): return .pointer(try JSONPointer.tokens(barePointer(), at: position))
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .literal(.text(try quoted()))
        case let byte? where byte == UInt8(ascii: "-") || byte.isASCIIDigit: return .literal(try number())
        case let byte? where byte.isASCIILetter || byte == UInt8(ascii: "_"): return try named()
        default: throw error("expected a value, such as /amount, \"text\", 10, source or fact(\"qos\")")
        }
    }

    private mutating func open() throws(ExpressionError) {
        depth += 1
        guard depth <= Expression.maximumDepth else {
            throw error(
                "an expression has at most \(Expression.maximumDepth) levels of parentheses, functions and 'not'"
            )
        }
    }

    private func condition(_ expression: Expression) throws(ExpressionError) -> Expression {
        if let reason = expression.refusalAsCondition { throw error(reason) }
        return expression
    }

    private func conditions(_ operands: [Expression]) throws(ExpressionError) -> [Expression] {
        for operand in operands { _ = try condition(operand) }
        return operands
    }
}

// MARK: - Names and functions

extension ExpressionParser {
    private static let keywords = ["and", "or", "not"]
    private static let functions = ["body", "fact", "capture"] + ExpressionFunction.allCases.map(\.rawValue)

    private mutating func named() throws(ExpressionError) -> Expression {
        let start = position
        let word = self.word()
        position += word.utf8.count
        switch word {
        case "true": return .literal(.boolean(true))
        case "false": return .literal(.boolean(false))
        case "null": return .literal(.null)
        default: break
        }
        if take("(") { return try call(word, at: start) }
        if let name = ExpressionName(rawValue: word) { return .name(name) }
        let names = ExpressionName.allCases.map(\.rawValue)
        let isFunction = ExpressionParser.functions.contains(word)
        let advice =
            isFunction
            ? "; write \(word)(...)"
            : NameSuggestion.advice(for: word, among: names + ExpressionParser.keywords + ExpressionParser.functions)
        throw ExpressionError(
            "unknown name '\(word.prefix(40))'\(advice); names are \(names.joined(separator: ", ")), a member of the body is "
                + "/member, and a text is in quotes",
            at: start
        )
    }

    private mutating func call(_ name: String, at start: Int) throws(ExpressionError) -> Expression {
        try open()
        defer { depth -= 1 }
        switch name {
        case "body": return .pointer(try JSONPointer.tokens(try text(of: name), at: position))
        case "capture": return .capture(try text(of: name))
        case "fact":
            let written = try text(of: name)
            guard let fact = ExpressionFact(rawValue: written) else {
                let facts = ExpressionFact.allCases.map(\.rawValue)
                throw ExpressionError(
                    "there is no fact '\(written.prefix(40))'\(NameSuggestion.advice(for: written, among: facts)); facts are "
                        + facts.joined(separator: ", "),
                    at: start
                )
            }
            return .fact(fact)
        default:
            guard let function = ExpressionFunction(rawValue: name) else {
                let known = ExpressionParser.functions
                throw ExpressionError(
                    "unknown function '\(name.prefix(40))'\(NameSuggestion.advice(for: name, among: known)); functions are "
                        + known.joined(separator: ", "),
                    at: start
                )
            }
            return .call(function, try arguments(of: function, at: start))
        }
    }

    /// Reads the only argument of a function that takes a text in quotes.
    private mutating func text(of function: String) throws(ExpressionError) -> String {
        guard let byte = peek(), byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") else {
            throw error("'\(function)' takes a text in quotes, such as \(function)(\"name\")")
        }
        let text = try quoted()
        guard take(")") else { throw error("expected ')'") }
        return text
    }

    private mutating func arguments(of function: ExpressionFunction, at start: Int) throws(ExpressionError)
        -> [Expression]
    {
        var arguments = [try expression()]
        while take(",") {
            arguments.append(try expression())
            guard arguments.count <= function.arguments else { break }
        }
        guard take(")"), arguments.count == function.arguments else {
            let number = function.arguments == 1 ? "one argument" : "\(function.arguments) arguments"
            throw ExpressionError("'\(function.rawValue)' takes \(number)", at: start)
        }
        if let reason = function.refusal(arguments) { throw ExpressionError(reason, at: start) }
        return arguments
    }
}

// MARK: - Characters

extension ExpressionParser {
    /// Returns the next byte that is not white space, and moves to it.
    private mutating func peek() -> UInt8? {
        while position < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[position]) { position += 1 }
        return position < text.count ? text[position] : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func takeWord(_ word: String) -> Bool {
        guard peek() != nil, self.word() == word else { return false }
        position += word.utf8.count
        return true
    }

    private mutating func takeComparison() -> Comparison? {
        guard peek() != nil else { return nil }
        let found = Comparison.allCases.first { text[position...].starts(with: $0.rawValue.utf8) }
        position += found?.rawValue.utf8.count ?? 0
        return found
    }

    private func word() -> String { run { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") } }

    private func run(_ isPart: (UInt8) -> Bool) -> String {
        String(decoding: text[position...].prefix(while: isPart), as: UTF8.self)
    }

    /// A pointer with other characters is written as `body("/a b")`.
    private mutating func barePointer() -> String {
        let ends = Array(" \t\n\r(){},=!<>\"'".utf8)
        let pointer = run { !ends.contains($0) }
        position += pointer.utf8.count
        return pointer
    }

    private mutating func number() throws(ExpressionError) -> ExpressionLiteral {
        let start = position
        let literal = run { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
        position += literal.utf8.count
        switch ExpressionValue.text(literal).converted {
        case .integer(let value): return .integer(value)
        case .number(let value) where value.isFinite: return .number(value)
        default: throw ExpressionError("'\(literal.prefix(40))' is not a number as in JSON", at: start)
        }
    }

    private mutating func quoted() throws(ExpressionError) -> String {
        let (start, quote) = (position, text[position])
        var content: [UInt8] = []
        position += 1
        while position < text.count {
            let byte = text[position]
            position += 1
            if byte == quote { return String(decoding: content, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard position < text.count, [quote, UInt8(ascii: "\\")].contains(text[position]) else {
                throw error("only a backslash and the quote itself have an escape; write other characters as they are")
            }
            content.append(text[position])
            position += 1
        }
        throw ExpressionError("the text in quotes has no end", at: start)
    }

    private func error(_ reason: String) -> ExpressionError { ExpressionError(reason, at: position) }
}

/// The reason why a text is not an expression or template.
struct ExpressionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and at which character, counted from 1.
    let description: String

    init(_ reason: String, at position: Int? = nil) {
        description = position.map { "at byte \($0 + 1): \(reason)" } ?? reason
    }
}

/// Reads JSON Pointers (RFC 6901).
enum JSONPointer {
    /// The maximum number of reference tokens.
    static let maximumTokens = 32

    /// Returns the reference tokens without escapes.
    static func tokens(_ text: String, at position: Int) throws(ExpressionError) -> [String] {
        guard !text.isEmpty else { return [] }
        guard text.hasPrefix("/") else {
            throw ExpressionError("a JSON Pointer begins with '/', such as \"/\(text.prefix(40))\"", at: position)
        }
        let parts = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= maximumTokens else {
            throw ExpressionError("a JSON Pointer has at most \(maximumTokens) names", at: position)
        }
        var tokens: [String] = []
        for part in parts { tokens.append(try token(part, at: position)) }
        return tokens
    }

    private static func token(_ part: Substring.UTF8View, at position: Int) throws(ExpressionError) -> String {
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in part {
            switch (isEscaped, byte) {
            case (false, UInt8(ascii: "~")): isEscaped = true
            case (false, _): bytes.append(byte)
            case (true, UInt8(ascii: "0")): (isEscaped, bytes) = (false, bytes + [UInt8(ascii: "~")])
            case (true, UInt8(ascii: "1")): (isEscaped, bytes) = (false, bytes + [UInt8(ascii: "/")])
            case (true, _): throw ExpressionError(malformed, at: position)
            }
        }
        guard !isEscaped else { throw ExpressionError(malformed, at: position) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let malformed = "malformed JSON Pointer: '~' is written '~0', and '/' in a name '~1'"

    /// Returns the pointer as text.
    static func text(_ tokens: [String]) -> String {
        tokens.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }
}
