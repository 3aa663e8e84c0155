public import SignalboxCore

/// An adapter and its far side - a broker's publisher, a page, a peer - as the conformance suite sees them.
///
/// Each case makes a subject of its own, for a source of its own, and ends it. Nothing may be shared between subjects that
/// would let one hear another's messages.
public protocol ConformanceSubject: Sendable {
    /// The adapter, for the source that the subject was made for. Runs follow each other on the same object.
    var adapter: any Adapter { get }

    /// The most arrivals the adapter submits at once, as its configuration states.
    var batchBound: Int { get }

    /// Whether the adapter submits nothing more until it has heard of every arrival of a batch, as one that can
    /// acknowledge only all together does; `false` by default. Such an adapter need not fill a window.
    var waitsForEachBatch: Bool { get }

    /// Whether the adapter submits a message also while one that it submitted before is not settled; by default it does unless
    /// it waits for each batch. One that does not cannot be asked for a repeat of what is running.
    var submitsWhileOneRuns: Bool { get }

    /// Lets the far side send the messages, in this order, and returns when it has handed all over.
    ///
    /// Called only while the adapter's run is in progress, which may not have connected yet: what is sent then must reach
    /// it. It may wait as long as the source holds it back; the suite does not rely on its return while a plugin waits.
    /// What is sent while the adapter stops may be refused, and the call may then throw.
    func send(_ messages: [ConformanceMessage]) async throws

    /// What the far side was answered to the message it sent with this id, waited for. Asked only where the adapter's
    /// features contain `replies`, also after the run in which the message was sent.
    func answer(to id: ActionID) async throws -> ConformanceAnswer

    /// Frees what the subject holds. The adapter does not run any more, unless it never ended.
    func end() async
}

extension ConformanceSubject {
    /// `false`.
    public var waitsForEachBatch: Bool { false }

    /// The opposite of ``waitsForEachBatch``.
    public var submitsWhileOneRuns: Bool { !waitsForEachBatch }

    /// For an adapter without `replies`, which is not asked: throws.
    public func answer(to id: ActionID) async throws -> ConformanceAnswer {
        throw ConformanceError("the subject does not implement answer(to:), although its adapter replies")
    }
}

/// A message that the conformance suite asks a subject's far side to send.
public struct ConformanceMessage: Sendable, Hashable {
    /// What tells the message from all others of the subject.
    ///
    /// Required: the message must be sent under this id, so that the plugin's context has it, as the suite knows a message
    /// again by nothing else. The bytes of a message that cannot be read must contain its text too.
    public let id: ActionID
    /// The action's name, or `nil` when the message must be one that the adapter cannot read as an action.
    public let action: ActionName?
    /// The body, as JSON in one line, of up to 60,100 bytes; the whole envelope stays below 65,536.
    public let body: String

    /// - Parameters:
    ///   - id: differs from those of all other messages.
    ///   - action: `nil` for a message that cannot be read.
    ///   - body: JSON in one line.
    public init(id: ActionID, action: ActionName?, body: String) {
        self.id = id
        self.action = action
        self.body = body
    }

    /// The message as a standard envelope in one line; an unreadable one as bytes that are no JSON.
    public var envelope: String {
        guard let action else { return "{\"id\":\(StandardEnvelope.quoted(id.text)), not an action" }
        return StandardEnvelope.text(action, id: id, body: body)
    }
}

/// What the far side of an adapter was told about a message it sent.
public enum ConformanceAnswer: Sendable, Hashable {
    /// It was handled, with this reply as JSON, or `nil` when the answer has none.
    case reply(Bytes?)
    /// It was not handled. The code is the reason's word: `malformed`, `unknownAction`, `sourceNotAllowed`, `invalidBody`,
    /// `unavailable`, `threw`, `timeout`, `drain`, `stop` and so on.
    case error(code: String)

    /// The answer that says this outcome.
    public init(_ outcome: Outcome) {
        if case .handled(let reply) = outcome {
            self = .reply(reply)
        } else {
            self = .error(code: outcome.code)
        }
    }
}

/// What kept the conformance suite or one of its subjects from going on, in words.
public struct ConformanceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened.
    public let description: String

    /// An error that says this.
    public init(_ description: String) {
        self.description = description
    }
}
