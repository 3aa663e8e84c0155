import SignalboxCore
import WebSocketChat

/// What a rule says to the messages of one way, as far as that is known without one.
enum RuleAnswer: Int, Comparable {
    case never
    /// It depends on the message.
    case perhaps
    case always

    static func < (left: RuleAnswer, right: RuleAnswer) -> Bool { left.rawValue < right.rawValue }

    /// What the opposite rule says.
    var opposite: RuleAnswer {
        switch self {
        case .never: .always
        case .perhaps: .perhaps
        case .always: .never
        }
    }
}

extension AccessSection {
    /// Whether messages of the way are let in.
    ///
    /// - Parameter action: the action they are; any when `nil`.
    func answer(to way: MessageWay, of action: ActionName?) -> RuleAnswer {
        let answer = answers(to: way, action)
        // A link must be named: see `LeastTrustedFacts`.
        if case .links = way.kind { return answer.named }
        return answer.permits
    }

    private func answers(to way: MessageWay, _ action: ActionName?) -> (permits: RuleAnswer, named: RuleAnswer) {
        switch self {
        case .origin(let source, let part):
            let answer = source == way.source ? part.answer(to: way, action) : .never
            return (answer, answer)
        case .any(let rules):
            let answers = rules.map { $0.answers(to: way, action) }
            return (answers.map(\.permits).max() ?? .never, answers.map(\.named).max() ?? .never)
        case .all(let rules):
            let answers = rules.map { $0.answers(to: way, action) }
            let permits = answers.map(\.permits).min() ?? .never
            return (permits, min(permits, answers.map(\.named).max() ?? .never))
        case .not(let rule): return (rule.answers(to: way, action).permits.opposite, .never)
        }
    }
}

extension AccessSection.Part {
    fileprivate func answer(to way: MessageWay, _ action: ActionName?) -> RuleAnswer {
        switch (self, way.kind) {
        case (.all, _): .always
        case (.push(let push), .topic): push.answer(way.shape(of: action))
        case (.script(let script), .page): script.origin == nil ? .always : .perhaps
        case (.scheme(let scheme), .links(let found, _)): scheme == found ? .always : .never
        case (.host(let host), .links(_, let found)): host == found ? .always : .never
        case (.feed(let tls), .feed(let isSecure)): tls == isSecure ? .always : .never
        case (.chat(let chat), .chat(let section)): chat.answer(section)
        default: .never
        }
    }
}

extension AccessSection.ChatPart {
    /// Where there are principals every client is one of them.
    fileprivate func answer(_ section: ChatSection) -> RuleAnswer {
        let hasPrincipals = !section.principals.isEmpty
        if authenticated.map({ $0 != hasPrincipals }) ?? false { return .never }
        if let principal, !section.principals.contains(where: { $0.name == principal }) { return .never }
        if let origin, !section.origins.contains(origin) { return .never }
        let isOnlyPrincipal = principal == nil || section.principals.count == 1
        return isOnlyPrincipal && origin == nil ? .always : .perhaps
    }
}

extension AccessSection.PushPart {
    fileprivate func answer(_ shape: TopicShape?) -> RuleAnswer {
        guard let topic, let shape else { return .perhaps }
        let wanted = TopicShape(topic)
        guard wanted.meets(shape) else { return .never }
        return wanted.covers(shape) && qos == nil && retained == nil ? .always : .perhaps
    }
}
