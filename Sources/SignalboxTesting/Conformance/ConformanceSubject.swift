public import SignalboxCore

/// An adapter together with its remote end, such as the publisher of a broker, a page or a peer.
///
/// Conform to this protocol to test an adapter with ``AdapterConformance``. Each case creates its own subject for its
/// own source, and ends the subject afterwards. Two subjects must share nothing through which one could receive the
/// other's messages.
public protocol ConformanceSubject: Sendable {
    /// The adapter, for the source that the subject was created with. The suite runs the same object several times in
    /// succession.
    var adapter: any Adapter { get }

    /// The maximum number of arrivals per submit, as set by the adapter's configuration.
    var batchBound: Int { get }

    /// Whether the adapter submits nothing more until every arrival of a batch is settled. Return `true` for an adapter
    /// that can only acknowledge a whole batch. Such an adapter need not fill a window. The default is `false`.
    var waitsForEachBatch: Bool { get }

    /// Whether the adapter submits a message while an earlier one is unsettled. By default, this is the opposite of
    /// ``waitsForEachBatch``. If it is `false`, the suite skips the case `duplicateWhileRunning`.
    var submitsWhileOneRuns: Bool { get }

    /// Sends the messages from the remote end, in this order, and returns when all of them are handed over.
    ///
    /// The suite calls this method only while the adapter's run is in progress. The run may not have connected yet, and
    /// the messages must reach it nevertheless. The call may wait while the source applies backpressure, because the
    /// suite does not rely on its return while a plugin waits. If the source is stopping, it may refuse messages, and
    /// the call may then throw.
    func send(_ messages: [ConformanceMessage]) async throws

    /// Waits for the answer that the remote end received to the message with this id, and returns the answer. The suite
    /// calls this method only if the adapter's features contain `replies`. The message may have been sent in an earlier
    /// run.
    func answer(to id: ActionID) async throws -> ConformanceAnswer

    /// Releases the resources of the subject. By then the adapter has stopped, unless its run never ended.
    func end() async
}

extension ConformanceSubject {
    /// The default, which is `false`.
    public var waitsForEachBatch: Bool { false }

    /// The default, which is the opposite of ``waitsForEachBatch``.
    public var submitsWhileOneRuns: Bool { !waitsForEachBatch }

    /// Throws an error. The suite never calls this method for an adapter without `replies`.
    public func answer(to id: ActionID) async throws -> ConformanceAnswer {
        throw ConformanceError("the subject does not implement answer(to:), although its adapter replies")
    }
}

/// A message that the conformance suite sends from a subject's remote end.
public struct ConformanceMessage: Sendable, Hashable {
    /// The id, which is unique among the subject's messages.
    ///
    /// The message must be sent with this id, so that the plugin's context has it, because the suite recognises a
    /// message only by its id. The bytes of an unreadable message must contain the text of the id too.
    public let id: ActionID
    /// The action's name, or `nil` if the adapter must be unable to read the message as an action.
    public let action: ActionName?
    /// The body as JSON on one line. It has up to 60,100 bytes, and the whole envelope stays below 65,536.
    public let body: String

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - id: An id that no other message has.
    ///   - action: The action's name, or `nil` for an unreadable message.
    ///   - body: The body as JSON on one line.
    public init(id: ActionID, action: ActionName?, body: String) {
        self.id = id
        self.action = action
        self.body = body
    }

    /// The message as a standard envelope on one line. If the message must be unreadable, these are bytes that are not
    /// JSON.
    public var envelope: String {
        guard let action else { return "{\"id\":\(JSONText.quoted(id.text)), not an action" }
        return StandardEnvelope.text(action, id: id, body: body)
    }
}

/// The answer that the remote end of an adapter received to a message.
public enum ConformanceAnswer: Sendable, Hashable {
    /// The message was handled. The value is the reply as JSON, or `nil` if the answer has none.
    case reply(Bytes?)
    /// The message was not handled. The code is the name of the reason: `malformed`, `unknownAction`,
    /// `sourceNotAllowed`, `invalidBody`, `unavailable`, `threw`, `timeout`, `drain`, `stop` and others.
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
