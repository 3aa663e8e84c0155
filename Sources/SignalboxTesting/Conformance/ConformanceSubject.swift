public import SignalboxCore

/// An adapter together with its remote end, such as a broker's publisher, a page or a peer.
///
/// Each case creates its own subject for its own source, and ends it. Subjects must share nothing that would let one
/// receive another's messages.
public protocol ConformanceSubject: Sendable {
    /// The adapter, for the source given to the subject. The suite runs the same object several times in succession.
    var adapter: any Adapter { get }

    /// The maximum number of arrivals per submit, as set by the adapter's configuration.
    var batchBound: Int { get }

    /// Whether the adapter submits nothing more until every arrival of a batch is settled, as an adapter does that can
    /// only acknowledge a whole batch; `false` by default. Such an adapter need not fill a window.
    var waitsForEachBatch: Bool { get }

    /// Whether the adapter submits a message while an earlier one is unsettled; by default the opposite of
    /// ``waitsForEachBatch``. If not, the suite skips the case `duplicateWhileRunning`.
    var submitsWhileOneRuns: Bool { get }

    /// Sends the messages from the remote end, in this order, and returns when all are handed over.
    ///
    /// The suite calls this only while the adapter's run is in progress. The run may not have connected yet, and the
    /// messages must still reach it. The call may wait while the source applies backpressure; the suite does not rely
    /// on its return while a plugin waits. A source that is stopping may refuse messages, and the call may then throw.
    func send(_ messages: [ConformanceMessage]) async throws

    /// Waits for the answer that the remote end received to the message with this id, and returns it. Called only if
    /// the adapter's features contain `replies`, possibly after the run in which the message was sent.
    func answer(to id: ActionID) async throws -> ConformanceAnswer

    /// Releases the subject's resources. The adapter has stopped, unless its run never ended.
    func end() async
}

extension ConformanceSubject {
    /// `false`.
    public var waitsForEachBatch: Bool { false }

    /// The opposite of ``waitsForEachBatch``.
    public var submitsWhileOneRuns: Bool { !waitsForEachBatch }

    /// Throws. The suite never calls it for an adapter without `replies`.
    public func answer(to id: ActionID) async throws -> ConformanceAnswer {
        throw ConformanceError("the subject does not implement answer(to:), although its adapter replies")
    }
}

/// A message that the conformance suite sends from a subject's remote end.
public struct ConformanceMessage: Sendable, Hashable {
    /// The id, unique among the subject's messages.
    ///
    /// The message must be sent under this id, so that the plugin's context has it: the suite recognises a message only
    /// by its id. The bytes of an unreadable message must contain the id's text too.
    public let id: ActionID
    /// The action's name, or `nil` if the adapter must be unable to read the message as an action.
    public let action: ActionName?
    /// The body as JSON on one line, of up to 60,100 bytes; the whole envelope stays below 65,536.
    public let body: String

    /// - Parameters:
    ///   - id: An id that no other message has.
    ///   - action: The action's name; `nil` for an unreadable message.
    ///   - body: JSON on one line.
    public init(id: ActionID, action: ActionName?, body: String) {
        self.id = id
        self.action = action
        self.body = body
    }

    /// The message as a standard envelope on one line; for an unreadable message, bytes that are not JSON.
    public var envelope: String {
        guard let action else { return "{\"id\":\(JSONText.quoted(id.text)), not an action" }
        return StandardEnvelope.text(action, id: id, body: body)
    }
}

/// The answer that the remote end of an adapter received to a message.
public enum ConformanceAnswer: Sendable, Hashable {
    /// The message was handled, with this reply as JSON, or `nil` if the answer has none.
    case reply(Bytes?)
    /// The message was not handled. The code is the reason's name: `malformed`, `unknownAction`, `sourceNotAllowed`,
    /// `invalidBody`, `unavailable`, `threw`, `timeout`, `drain`, `stop` and others.
    case error(code: String)

    /// Creates the answer that reports this outcome.
    public init(_ outcome: Outcome) {
        if case .handled(let reply) = outcome {
            self = .reply(reply)
        } else {
            self = .error(code: outcome.code)
        }
    }
}

/// An error that prevents the conformance suite or one of its subjects from continuing.
public struct ConformanceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A description of the error.
    public let description: String

    /// Creates an error with this description.
    public init(_ description: String) {
        self.description = description
    }
}
