import AdapterThreads
public import Logging
public import SignalboxCore

/// Receives messages from an MQTT broker, at least once: a message is acknowledged when Signalbox has custody of it.
///
/// Each run owns one thread and one connection at a time, and one more of both for each of
/// ``MQTTPushConfiguration/connections``. It reads a batch, submits it, waits until each of its messages
/// is settled (or journalled), and only then lets the acknowledgements out. When one is abandoned the connection is
/// dropped with the acknowledgements unsent, so all of the batch that came at QoS 1 comes again; what comes twice can be told
/// by its id. What came at QoS 0 is not sent again.
///
/// The broker must be told to keep what it cannot deliver (mosquitto: `max_queued_messages 0`): by default it drops
/// messages beyond 1,000 silently.
public struct MQTTPushAdapter: Adapter {
    /// What the adapter was made with.
    public let configuration: MQTTPushConfiguration
    /// The second client, where ``MQTTPushConfiguration/publishing`` asks for one; it runs while the adapter runs, and what it
    /// is given before waits.
    public let publisher: MQTTPublisher?
    private let answering: PushAnswering?
    private let logger: Logger
    let parts: [(configuration: MQTTPushConfiguration, board: TopicBoard)]

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of connections, refusals and lost sessions; never of payloads and secrets.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`.
    public init(_ configuration: MQTTPushConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        if let settings = configuration.publisher {
            let publisher = try MQTTPublisher(settings, logger: logger)
            self.publisher = publisher
            answering = PushAnswering(configuration, publisher: publisher)
        } else {
            publisher = nil
            answering = nil
        }
        parts = configuration.perConnection.map { ($0, TopicBoard($0.topics)) }
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// What was not acknowledged comes again, under the id that its publisher gave in the payload or the topic. Answers need
    /// ``MQTTPublishing/replyTopics``, a sender needs ``MQTTPublishing/sendTopic``.
    public var features: AdapterFeatures {
        var features: AdapterFeatures = [.redelivers, .stableIDs]
        if answering?.desk != nil { features.insert(.replies) }
        if answering?.sender != nil { features.insert(.pushes) }
        return features
    }

    /// What became of the requests among the messages; all 0 where nothing is answered.
    public var replyCounts: MQTTReplyCounts { answering?.desk?.counts ?? MQTTReplyCounts() }

    /// Calls an action of another program by ``MQTTPublishing/sendTopic`` and waits for its answer.
    ///
    /// - Parameters:
    ///   - action: the name the other side routes by.
    ///   - body: the body as JSON; empty for none.
    ///   - timeout: from the call to the answer, connecting included; above zero, at most 24 h.
    /// - Returns: the answer, whatever its outcome: see ``MQTTReply/outcome``.
    /// - Throws: ``MQTTPublishError``: as ``MQTTPublisher/request(_:timeout:)``, and `unsupported` where no topic to send to is
    ///   configured.
    public func call(
        _ action: ActionName,
        body: Bytes,
        timeout: Duration
    ) async throws(MQTTPublishError) -> MQTTReply {
        guard let publisher, let topic = configuration.publishing?.sendTopic else {
            throw MQTTPublishError(.unsupported, "the source has no topic to send to: set publishing and its sendTopic")
        }
        return try await publisher.call(action, topic: topic, body: body, timeout: timeout)
    }

    /// Subscribes to one more topic, while others go on without a gap.
    ///
    /// It stays for later connections and runs of this adapter. A connection has at most 1,000 topics.
    /// Waits for the broker's answer, and before that until the batch that is held is settled; cancellation does not end it.
    ///
    /// - Parameters:
    ///   - topic: decides about messages that no earlier topic matches.
    ///   - connection: the name of one of ``MQTTPushConfiguration/connections``, or `nil` (default) for the source's own.
    /// - Returns: `done` when the broker has granted it; `remembered` when there is no connection.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` when the topic is faulty, there already or one too many, or there is
    ///   no such connection; `subscriptionRefused` when the broker refuses it: then it is forgotten.
    @discardableResult
    public func add(_ topic: MQTTTopic, to connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await board(connection).add(topic)
    }

    /// Ends a subscription, while others go on without a gap. Messages that the broker already has for the session still come,
    /// some perhaps after this has returned (MQTT 5.0, 3.10.4), or with a later connection of this adapter; of what comes after
    /// a restart of the process nothing is known, and it is `rejected(malformed)`.
    ///
    /// It stays away for later connections and runs of this adapter. The last topic of a connection stays.
    /// Waits as ``add(_:to:)`` does. A topic that is added again meanwhile stays.
    ///
    /// - Parameters:
    ///   - filter: as the broker knows it: with `+` and `#` in place of captures, and `$share/GROUP/` where it is shared.
    ///   - connection: the name of one of ``MQTTPushConfiguration/connections``, or `nil` (default) for the source's own.
    /// - Returns: `done` when the broker has taken it back; `remembered` when there is no connection.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` when there is no such topic or connection, it is the last topic, or
    ///   1,000 wait already to be taken back.
    @discardableResult
    public func remove(_ filter: String, from connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await board(connection).remove(filter)
    }

    private func board(_ connection: String?) throws(MQTTPushError) -> TopicBoard {
        guard let part = parts.first(where: { $0.configuration.connectionName == connection }) else {
            throw MQTTPushError(.invalidConfiguration, "there is no connection of that name", source: source)
        }
        return part.board
    }

    /// Receives until its task is cancelled or the intake closes; reconnects for ever in between.
    ///
    /// Cancellation is the graceful stop: nothing more is read, the messages taken are waited for and acknowledged, the
    /// broker is told goodbye and keeps the session; at most 1 s is waited for it to have read that. It is heard at once,
    /// also before a connection and between two; only the system's calls that read files and secrets, look up a name and
    /// connect cannot be interrupted, and their thread is then left to end by itself. One run at a time: two would take the
    /// client id from each other.
    ///
    /// - Throws: ``MQTTPushError`` `noResources` when the system gives no thread, descriptor or memory; `notConnected`
    ///   and `subscriptionRefused` where ``MQTTPushConfiguration/firstConnectionMustSucceed`` asks for it, of the publishing
    ///   client too.
    public func run(into intake: any Intake) async throws {
        MosquittoFaults.warn(of: configuration.broker, configuration.version, configuration.security, to: logger)
        guard let publisher else { return try await receive(into: intake) }
        let publishing = try publisher.begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // It hears no cancellation: answers are sent until the last message is settled.
            group.addTask { try await publishing.ended() }
            group.addTask {
                defer { publishing.stop() }
                try await receive(into: intake)
            }
            // The first that fails ends the other.
            for try await _ in group {}
        }
    }

    private func receive(into intake: any Intake) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { try await receive(part.configuration, part.board, into: intake) }
            }
            // The first that fails ends the others.
            for try await _ in group {}
        }
    }

    private func receive(
        _ configuration: MQTTPushConfiguration,
        _ board: TopicBoard,
        into intake: any Intake
    ) async throws {
        let control = try LoopControl()
        let thread: OwnedThread
        do throws(NoSystemResource) {
            thread = try OwnedThread { [logger, answering] in
                do throws(MQTTPushError) {
                    try ReceiveLoop(
                        configuration,
                        board: board,
                        control: control,
                        intake: intake,
                        logger: logger,
                        answering: answering
                    )
                    .run()
                    control.end(nil)
                } catch {
                    control.end(error)
                }
            }
        } catch {
            throw MQTTPushError(.noResources, error.description, source: source)
        }
        try await withTaskCancellationHandler {
            try await serve(control, thread, intake)
        } onCancel: {
            control.stop()
        }
    }

    private func serve(_ control: LoopControl, _ thread: OwnedThread, _ intake: any Intake) async throws {
        while true {
            switch await control.nextEvent() {
            case .roomWanted:
                do throws(SourceClosed) {
                    try await intake.room()
                    control.answer(.free)
                } catch {
                    control.answer(.closed)
                    control.stop()
                }
            case .ended(let error):
                thread.join()
                if let error { throw error }
                return
            case .leftBehind:
                thread.leave()
                return
            }
        }
    }
}

extension ActionName {
    /// The broker had lost the session of a source that came back: messages sent while it was away may be missing.
    /// Submitted before the new session's first message. The body is an object of `broker`, `client_id` and, for a further
    /// connection of the source, `connection`. No publisher can send it.
    public static let pushSessionLost = ActionName.own("sessionLost")
}
