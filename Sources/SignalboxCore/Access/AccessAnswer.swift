/// What an access rule says about one origin, and which part of it decided.
public struct AccessAnswer: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Whether an arrival from the origin may call the plugin.
    public let isAllowed: Bool
    /// The part of the rule that decided, in its own words.
    ///
    /// Of `any` it is the first part that allows, of `all` the first that refuses; where no single part decided, as when
    /// none of several allows, it is the composed rule itself.
    public let decidedBy: String
    /// Whether it was refused only because the origin has ``LeastTrustedFacts`` and ``decidedBy`` does not name it.
    public let lacksName: Bool

    /// One sentence, such as `refused by source push`.
    public var description: String {
        guard !isAllowed else { return "allowed by \(decidedBy)" }
        let reason = lacksName ? ", which does not name an origin behind which anybody may stand" : ""
        return "refused by \(decidedBy)\(reason)"
    }
}

extension AccessRule {
    /// The same answer as ``allows(_:)``, with its reason. Slower: for explanations, not for every arrival.
    public func answer(to origin: Origin) -> AccessAnswer {
        answer(to: origin, byName: origin.mustBeNamed)
    }

    /// - Parameter byName: whether only what the rule names is allowed.
    private func answer(to origin: Origin, byName: Bool) -> AccessAnswer {
        let isAllowed = isAllowed(origin, byName)
        if connective != .none, parts.count == 1 { return parts[0].answer(to: origin, byName: byName) }
        switch connective {
        case .none:
            return decided(isAllowed, lacksName: byName && permits(origin))
        case .any:
            if let first = parts.first(where: { $0.isAllowed(origin, byName) }) {
                return first.answer(to: origin, byName: byName)
            }
            return decided(false, lacksName: byName && parts.contains { $0.permits(origin) })
        case .all:
            if let first = parts.first(where: { !$0.permits(origin) }) {
                return first.answer(to: origin, byName: false)
            }
            return decided(isAllowed, lacksName: byName && !parts.isEmpty)
        }
    }

    private func isAllowed(_ origin: Origin, _ byName: Bool) -> Bool {
        byName ? permitsByName(origin) : permits(origin)
    }

    private func decided(_ isAllowed: Bool, lacksName: Bool) -> AccessAnswer {
        AccessAnswer(isAllowed: isAllowed, decidedBy: description, lacksName: !isAllowed && lacksName)
    }
}
