import SignalboxCore

/// Finds mistakes in an expression before there is an action.
extension Expression {
    /// What is known about the values of an expression.
    enum Kind: String {
        case text = "a text"
        case number = "a number"
        case boolean = "true or false"
        case null = "null"
        /// The value depends on the body.
        case any = "a value of the body"
    }

    var kind: Kind {
        switch self {
        case .literal(.null): .null
        case .literal(.boolean), .not, .all, .any, .compare, .fact(.retained): .boolean
        case .literal(.integer), .literal(.number), .fact(.qos): .number
        case .literal(.text), .name, .capture, .fact: .text
        case .pointer: .any
        case .call(.length, _), .call(.number, _): .number
        case .call: .boolean
        }
    }

    /// Returns why the expression is never true, or `nil` if it can be.
    var refusalAsCondition: String? {
        guard kind != .boolean, kind != .any else { return nil }
        return "expected a condition, found \(kind.rawValue): \(self); compare it, such as \(self) == \(example)"
    }

    private var example: String { kind == .number ? "1" : kind == .null ? "null" : "\"a\"" }

    /// The value that the expression has for each action, or `nil` if it depends on the action.
    var constant: Bool? {
        switch self {
        case .literal(.boolean(let value)): return value
        case .not(let operand): return operand.constant.map { !$0 }
        case .all(let operands):
            let known = operands.map(\.constant)
            return known.contains(false) ? false : known.allSatisfy { $0 == true } ? true : nil
        case .any(let operands):
            let known = operands.map(\.constant)
            return known.contains(true) ? true : known.allSatisfy { $0 == false } ? false : nil
        default: return nil
        }
    }

    /// The texts that the name of the source is compared with.
    var comparedSources: [String] {
        switch self {
        case .compare(.equal, .name(.source), .literal(.text(let name))),
            .compare(.unequal, .name(.source), .literal(.text(let name))),
            .compare(.equal, .literal(.text(let name)), .name(.source)),
            .compare(.unequal, .literal(.text(let name)), .name(.source)):
            [name]
        case .not(let operand): operand.comparedSources
        case .all(let operands), .any(let operands): operands.flatMap(\.comparedSources)
        default: []
        }
    }
}

extension Comparison {
    /// Returns why the comparison has the same result for each action, or `nil` if it depends on the action.
    func refusal(_ left: Expression, _ right: Expression) -> String? {
        if case (.literal, .literal) = (left, right) {
            return "\(left) and \(right) are both fixed; compare one with a value of the message"
        }
        let kinds = [left.kind, right.kind]
        if isOrdering, let other = kinds.first(where: { $0 == .boolean || $0 == .null }) {
            return "only numbers and texts have an order, and \(other.rawValue) is neither; use == or !="
        }
        guard left.kind != right.kind, !kinds.contains(.any) else { return nil }
        // A fact or capture can be missing, but is never null.
        let advice =
            switch (left, right) {
            case (_, .literal(.integer)), (_, .literal(.number)): "write \"\(right)\", or number(\(left))"
            case (.literal(.integer), _), (.literal(.number), _): "write \"\(left)\", or number(\(right))"
            case (_, .literal(.null)), (.literal(.null), _): "use exists(...)"
            default: "compare values of one kind"
            }
        return
            "\(left) is \(left.kind.rawValue) and \(right) is \(right.kind.rawValue), so they are never equal; \(advice)"
    }
}

extension ExpressionFunction {
    /// Returns why the function has the same result for each action, or `nil` if it depends on the action.
    func refusal(_ arguments: [Expression]) -> String? {
        let isText = { (argument: Expression) in argument.kind == .text || argument.kind == .any }
        switch self {
        case .exists, .number:
            guard case .literal? = arguments.first else { return nil }
            return "the argument of '\(rawValue)' is fixed; name a value of the message"
        case .length, .contains, .startsWith, .endsWith:
            guard let other = arguments.first(where: { !isText($0) }) else { return nil }
            return "'\(rawValue)' takes texts, and \(other) is \(other.kind.rawValue)"
        }
    }
}

extension Expression: CustomStringConvertible {
    /// The expression as it can be written.
    var description: String {
        switch self {
        case .literal(.null): "null"
        case .literal(.boolean(let value)): "\(value)"
        case .literal(.integer(let value)): "\(value)"
        case .literal(.number(let value)): "\(value)"
        case .literal(.text(let text)): Expression.quoted(text)
        case .pointer(let tokens): Expression.pointer(JSONPointer.text(tokens))
        case .name(let name): name.rawValue
        case .fact(let fact): "fact(\"\(fact.rawValue)\")"
        case .capture(let name): "capture(\(Expression.quoted(name)))"
        case .call(let function, let arguments):
            "\(function.rawValue)(\(arguments.map(\.description).joined(separator: ", ")))"
        case .compare(let comparison, let left, let right):
            "\(left.operandText) \(comparison.rawValue) \(right.operandText)"
        case .not(let operand): "not \(operand.operandText)"
        case .all(let operands): operands.map(\.operandText).joined(separator: " and ")
        case .any(let operands): operands.map(\.operandText).joined(separator: " or ")
        }
    }

    private var operandText: String {
        switch self {
        case .compare, .not, .all, .any: "(\(self))"
        default: description
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    private static func pointer(_ text: String) -> String {
        let isBare = !text.isEmpty && !text.contains { " \t\n\r(){},=!<>\"'".contains($0) }
        return isBare ? text : "body(\(quoted(text)))"
    }
}

extension Expression {
    /// Returns why the condition has its result for an action, with the values that decided.
    func reason(for action: Action) -> String {
        let result = holds(for: action)
        switch self {
        case .all(let operands):
            return operands.first { !$0.holds(for: action) && !result }?.reason(for: action)
                ?? operands.map { $0.reason(for: action) }.joined(separator: "; ")
        case .any(let operands):
            return operands.first { $0.holds(for: action) && result }?.reason(for: action)
                ?? operands.map { $0.reason(for: action) }.joined(separator: "; ")
        case .compare(_, let left, let right):
            let values = [left, right].filter { if case .literal = $0 { false } else { true } }
                .map { "\($0) is \($0.value(for: action).shown)" }
            return "\(self) is \(result), as \(values.joined(separator: " and "))"
        case .pointer: return "\(self) is \(value(for: action).shown)"
        default: return "\(self) is \(result)"
        }
    }
}
