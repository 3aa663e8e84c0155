public import Logging
import Signalbox
public import SignalboxCore

/// Asks a plugin what it makes of a body, through the real path: decoded, called, timed and answered by a supervisor.
///
/// ```swift
/// let tester = PluginTester(LoadingPlugin())
/// let outcome = await tester.outcome(of: #"{"isShow":true}"#)
/// #expect(outcome == .handled(reply: nil))
/// ```
///
/// Each question has a supervisor of its own, so no question waits for another; the plugin is the same for all.
public struct PluginTester: Sendable {
    /// The name the plugin is registered for.
    public let action: ActionName
    /// Records what the plugin sends with `context.sender`, unless ``sender`` is set to another.
    public let recorder: RecordingSender
    /// The source the bodies come from; `test` unless told otherwise.
    public var source: SourceName = "test"
    /// What the plugin finds in `context.origin.facts`.
    public var facts: any OriginFacts = InMemoryFacts()
    /// What the plugin finds in `context.sender`: ``recorder`` unless told otherwise, `nil` for a source that cannot be
    /// spoken to unasked.
    public var sender: (any Sender)?
    /// How a body's bytes are read; JSON unless told otherwise.
    public var payload = PayloadKind.json
    /// How long the plugin's call may take; 60 s unless told otherwise, as a test must not fail because the machine is busy.
    public var timeout: Duration = .seconds(60)
    /// What the timeout is measured with. With a ``ManualClock`` a plugin that hangs is tested without waiting:
    /// `await clock.tick { await tester.outcome(of: "{}") }`.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// Where the supervisor and the plugin's `context.logger` write; nowhere unless told otherwise.
    public var logger = Logger(label: "signalbox.test") { _ in SwiftLogNoOpLogHandler() }

    private let register: @Sendable (Supervisor) throws(RegistrationError) -> Void

    init(_ action: ActionName, register: @escaping @Sendable (Supervisor) throws(RegistrationError) -> Void) {
        self.action = action
        self.register = register
        let recorder = RecordingSender()
        self.recorder = recorder
        sender = recorder
    }

    /// Which origins may call the plugin: all, as the question is not who may call it.
    static let anyOrigin = AccessRule("any origin", permits: { _ in true }, permitsByName: { _ in true })

    /// What the plugin has sent with `context.sender` so far, in order.
    public var sent: [SentAction] { recorder.sent }

    /// What becomes of an action with this body.
    ///
    /// - Parameters:
    ///   - body: JSON, or what ``payload`` says; it need not be valid.
    ///   - id: what the plugin finds in `context.id`; one is assigned when `nil`.
    ///   - deadline: when it is too late for the plugin to begin.
    public func outcome(
        of body: String,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcome(of: Bytes(body), id: id, deadline: deadline)
    }

    /// What becomes of an action with this body, given as bytes.
    public func outcome(
        of body: Bytes,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcomes(of: [body], id: id, deadline: deadline)[0]
    }

    /// What becomes of an action whose body is this value, written as JSON.
    ///
    /// - Throws: `BodyError` when the value has no JSON form.
    public func outcome(
        encoding body: some Encodable,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(BodyError) -> Outcome {
        await outcome(of: try BodyWriter.write(body), id: id, deadline: deadline)
    }

    /// What becomes of several actions that arrive in one batch, in their order. A `BatchPlugin` gets those whose bodies
    /// are valid in one call.
    ///
    /// More than 1,000 bodies, or 16 MiB of them, arrive in several: a source has no more inside a supervisor at once.
    public func outcomes(of bodies: [String]) async -> [Outcome] {
        await outcomes(of: bodies.map { Bytes($0) }, id: nil, deadline: nil)
    }

    /// The plugin's answer to a body, as a value; a plugin that answers nothing answers `null`.
    ///
    /// - Throws: the `Outcome.Rejection`, `Outcome.Failure` or `Outcome.Abandonment` when the body was not handled;
    ///   `BodyError` when the answer is no such value.
    public func reply<Reply: Decodable>(as type: Reply.Type, to body: String) async throws -> Reply {
        switch await outcome(of: body) {
        case .handled(let reply): try Body(json: reply ?? Bytes("null")).decode(type)
        case .rejected(let rejection): throw rejection
        case .failed(let failure): throw failure
        case .abandoned(let abandonment): throw abandonment
        }
    }
}

// MARK: - The path

extension PluginTester {
    private func outcomes(of bodies: [Bytes], id: ActionID?, deadline: ContinuousClock.Instant?) async -> [Outcome] {
        var configuration = SupervisorConfiguration()
        configuration.timeout = timeout
        let supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        do {
            // The supervisor is new, so its names are free.
            try register(supervisor)
            let intake = try supervisor.intake(for: source)
            return try await supervisor.whileRunning {
                await intake.deliver(arrivals(bodies, id: id, deadline: deadline))
            }
        } catch {
            preconditionFailure("a new supervisor refused a plugin or a source: \(error)")
        }
    }

    private func arrivals(_ bodies: [Bytes], id: ActionID?, deadline: ContinuousClock.Instant?) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0))
        let origin = Origin(source: source, facts: facts)
        for (token, body) in bodies.enumerated() {
            body.withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: UInt64(token),
                    origin: origin,
                    sender: sender,
                    receivedAt: WallTime(seconds: 0),
                    deadline: deadline,
                    envelope: .route(RouteNaming(action: action, id: id)),
                    payload: payload
                )
            }
        }
        return batch.take()
    }
}

extension PluginTester {
    /// Asks a closure that works without waiting. A closure without `await` picks this form.
    ///
    /// - Parameters:
    ///   - action: the name it is registered for.
    ///   - info: what a body is decoded into.
    ///   - handler: what is asked.
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that works without waiting and answers with a value that is sent as JSON.
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that may wait.
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that may wait and answers with a value that is sent as JSON.
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }
}

extension PluginTester {
    /// Asks a plugin that answers nothing.
    public init<P: Plugin>(_ plugin: P) where P.Reply == Void {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin whose reply is sent as JSON.
    public init<P: Plugin>(_ plugin: P) where P.Reply: Encodable {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that works without waiting and answers nothing.
    public init<P: SyncPlugin>(_ plugin: P) where P.Reply == Void {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that works without waiting and whose reply is sent as JSON.
    public init<P: SyncPlugin>(_ plugin: P) where P.Reply: Encodable {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that handles a batch together; see ``outcomes(of:)``.
    public init<P: BatchPlugin>(_ plugin: P) {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }
}
