import AppScheme
import HTTPActions
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// A condition or value over an action, as the steps of a chain use it. It has no loops and calls no code, so that its time is
/// bounded by its length and by the size of the body.
indirect enum Expression: Sendable, Hashable {
    case literal(ExpressionLiteral)
    /// The value of the body that a JSON Pointer names, as its reference tokens.
    case pointer([String])
    case name(ExpressionName)
    case fact(ExpressionFact)
    /// The capture of the topic with this name.
    case capture(String)
    case call(ExpressionFunction, [Expression])
    case compare(Comparison, Expression, Expression)
    case not(Expression)
    case all([Expression])
    case any([Expression])

    /// The maximum number of bytes of an expression, and of the text of a template.
    static let maximumLength = 1_024
    /// The maximum number of parentheses, functions and `not` that may be open at once.
    static let maximumDepth = 16
}

/// A value that is written in an expression.
enum ExpressionLiteral: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
}

/// What an expression can name without an argument.
enum ExpressionName: String, Sendable, CaseIterable {
    case source, action, id
}

/// A fact about where a message came from. The names are those of the members of a line of `print`.
enum ExpressionFact: String, Sendable, CaseIterable {
    case topic, retained, qos, scheme, host, peer, principal, clientOrigin

    /// Returns the fact about a sender, or a missing value if its source has no such fact.
    func value(_ facts: any OriginFacts) -> ExpressionValue {
        switch (self, facts) {
        case (.topic, let push as PushFacts): .text(push.topic)
        case (.retained, let push as PushFacts): .boolean(push.retained)
        case (.qos, let push as PushFacts): .integer(Int64(push.qos))
        case (.scheme, let link as LinkFacts): link.scheme.isEmpty ? .missing : .text(link.scheme)
        case (.host, let link as LinkFacts): .text(orMissing: link.universalHost)
        case (.peer, let chat as ChatFacts): .text(chat.peer)
        case (.principal, let chat as ChatFacts): .text(orMissing: chat.principal)
        case (.clientOrigin, let chat as ChatFacts): .text(orMissing: chat.origin?.description)
        case (.peer, let request as HTTPActionFacts): .text(request.peer)
        case (.principal, let request as HTTPActionFacts): .text(orMissing: request.principal)
        case (.clientOrigin, let request as HTTPActionFacts): .text(orMissing: request.origin?.description)
        default: .missing
        }
    }
}

/// A function of an expression.
enum ExpressionFunction: String, Sendable, CaseIterable {
    case exists, length, number, contains, startsWith = "starts_with", endsWith = "ends_with"

    var arguments: Int {
        switch self {
        case .exists, .length, .number: 1
        case .contains, .startsWith, .endsWith: 2
        }
    }
}

/// A comparison of two values.
enum Comparison: String, Sendable, CaseIterable {
    // A longer sign comes before the one that it begins with.
    case equal = "==", unequal = "!=", atMost = "<=", atLeast = ">=", less = "<", greater = ">"

    /// Whether the values are compared by size, which only numbers and texts have.
    var isOrdering: Bool { self != .equal && self != .unequal }

    /// Returns the result for values of one kind. Missing values, values of different kinds, lists and objects are unequal, and
    /// neither is less.
    func holds(_ left: ExpressionValue, _ right: ExpressionValue) -> Bool {
        switch self {
        case .equal: left.isEqual(to: right)
        case .unequal: !left.isEqual(to: right)
        case .less: left.isLess(than: right) == true
        case .greater: right.isLess(than: left) == true
        case .atMost: right.isLess(than: left) == false
        case .atLeast: left.isLess(than: right) == false
        }
    }
}

extension Expression {
    /// Returns whether the expression is true for the action. Only the value `true` is true.
    func holds(for action: Action) -> Bool { value(for: action).isTrue }

    func value(for action: Action) -> ExpressionValue {
        switch self {
        case .literal(let literal): literal.value
        case .pointer(let tokens): action.body.value(at: tokens).map(ExpressionValue.init) ?? .missing
        case .name(.source): .text(action.origin.source.text)
        case .name(.action): .text(action.name.text)
        case .name(.id): .text(action.id.text)
        case .fact(let fact): fact.value(action.origin.facts)
        case .capture(let name): .text(orMissing: (action.origin.facts as? PushFacts)?.captures[name])
        case .call(let function, let arguments): function.value(arguments.map { $0.value(for: action) })
        case .compare(let comparison, let left, let right):
            .boolean(comparison.holds(left.value(for: action), right.value(for: action)))
        case .not(let operand): .boolean(!operand.holds(for: action))
        case .all(let operands): .boolean(operands.allSatisfy { $0.holds(for: action) })
        case .any(let operands): .boolean(operands.contains { $0.holds(for: action) })
        }
    }

    /// Returns the value as compact JSON, or `nil` if it is missing. A value of the body keeps its numbers and its order.
    func json(for action: Action) -> Bytes? {
        if case .pointer(let tokens) = self { return action.body.value(at: tokens)?.json }
        return value(for: action).json
    }

    /// Returns the value as a part of a text: a text without quotes, nothing for a missing value, otherwise JSON.
    func text(for action: Action) -> String {
        if case .text(let text) = value(for: action) { return text }
        return json(for: action).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension ExpressionLiteral {
    fileprivate var value: ExpressionValue {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .number(let value): .number(value)
        case .text(let value): .text(value)
        }
    }
}

extension ExpressionFunction {
    fileprivate func value(_ arguments: [ExpressionValue]) -> ExpressionValue {
        guard let first = arguments.first else { return .missing }
        switch (self, first, arguments.last) {
        case (.exists, _, _): return .boolean(!first.isMissing)
        case (.length, _, _): return first.length
        case (.number, _, _): return first.converted
        case (.contains, .text(let text), .text(let part)): return .boolean(text.containsBytes(of: part))
        case (.startsWith, .text(let text), .text(let part)): return .boolean(text.utf8.starts(with: part.utf8))
        case (.endsWith, .text(let text), .text(let part)):
            return .boolean(text.utf8.reversed().starts(with: part.utf8.reversed()))
        default: return .boolean(false)
        }
    }
}
