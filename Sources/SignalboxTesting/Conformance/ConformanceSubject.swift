public import SignalboxCore

/// An adapter together with its remote end, such as a broker's publisher, a page or a peer.
///
/// Conform to this protocol to test an adapter with ``AdapterConformance``. Each case creates a new subject for a new
/// source, and ends the subject afterwards. Two subjects must not share anything that could cause one subject to
/// receive the other's messages.
public protocol ConformanceSubject: Sendable {
    /// The adapter for the source that the subject was created with. The suite runs the same object several times, one
    /// run after the other.
    var adapter: any Adapter { get }

    /// The maximum number of arrivals per submit, as set in the adapter's configuration.
    var batchBound: Int { get }

    /// Whether the adapter waits until every arrival in a batch has been settled before it submits anything else. The
    /// default is `false`.
    ///
    /// Return `true` if the adapter can only acknowledge a whole batch. Such an adapter does not have to fill a window.
    var waitsForEachBatch: Bool { get }

    /// Whether the adapter submits a message while an earlier message is unsettled. The default is the opposite of
    /// ``waitsForEachBatch``. If the value is `false`, the suite skips the case `duplicateWhileRunning`.
    var submitsWhileOneRuns: Bool { get }

    /// Sends the messages from the remote end in the given order, and returns when all of them have been handed over.
    ///
    /// The suite calls this method only while a run of the adapter is in progress. The messages must reach the run even
    /// if the run has not connected yet. This method may wait while the source applies backpressure, because the suite
    /// does not rely on it to return while a plugin waits. A source that is stopping may refuse messages, and this
    /// method may then throw an error.
    func send(_ messages: [ConformanceMessage]) async throws

    /// Waits until the remote end receives the answer to the message with the given id, and returns the answer. The
    /// suite calls this method only if the adapter's features contain `replies`. The message may have been sent in an
    /// earlier run.
    func answer(to id: ActionID) async throws -> ConformanceAnswer

    /// Releases the subject's resources. By then, the adapter has stopped, unless its run never ended.
    func end() async
}

extension ConformanceSubject {
    /// The default: `false`.
    public var waitsForEachBatch: Bool { false }

    /// The default: the opposite of ``waitsForEachBatch``.
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
    /// Send the message with this id. The suite recognises a message only by its id, so the plugin's context must have
    /// the same id. The bytes of an unreadable message must also contain the text of the id.
    public let id: ActionID
    /// The action's name, or `nil` if the adapter must not be able to read the message as an action.
    public let action: ActionName?
    /// The body as JSON on one line. The body has up to 60,100 bytes, and the whole envelope has fewer than 65,536.
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

    /// The message as a standard envelope on one line. For a message that must be unreadable, these bytes are not JSON.
    public var envelope: String {
        guard let action else { return "{\"id\":\(JSONText.quoted(id.text)), not an action" }
        return StandardEnvelope.text(action, id: id, body: body)
    }
}

/// The answer to a message, as received by an adapter's remote end.
public enum ConformanceAnswer: Sendable, Hashable {
    /// The message was handled. The value is the reply as JSON, or `nil` if the answer contains no reply.
    case reply(Bytes?)
    /// The message was not handled. The code is the name of the reason, such as `malformed`, `unknownAction`,
    /// `sourceNotAllowed`, `invalidBody`, `unavailable`, `threw`, `timeout`, `drain` or `stop`.
    case error(code: String)

    /// Creates the answer that reports an outcome.
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
    /// Describes the error.
    public let description: String

    /// Creates an error with the given description.
    public init(_ description: String) {
        self.description = description
    }
}
