public import Logging
public import Signalbox
public import SignalboxCore

/// Tests a plugin through a supervisor, which decodes each body, times the call, and returns the outcome.
///
/// ```swift
/// let tester = PluginTester(Registration(LoadingPlugin(), from: .anyOrigin))
/// let outcome = await tester.outcome(of: #"{"isShow":true}"#)
/// #expect(outcome == .handled(reply: nil))
/// ```
///
/// Each call uses its own supervisor and the same plugin, so calls do not wait for each other.
public struct PluginTester: Sendable {
    /// The name under which the plugin is registered.
    public var action: ActionName { registration.action }
    /// Records the actions that the plugin sends with `context.sender`, unless ``sender`` is replaced.
    public let recorder: RecordingSender
    /// The source of the bodies; `test` by default.
    public var source: SourceName = "test"
    /// The value of `context.origin.facts`.
    public var facts: any OriginFacts = InMemoryFacts()
    /// The value of `context.sender`: ``recorder`` by default, `nil` for a source that accepts no pushes.
    public var sender: (any Sender)?
    /// The encoding of the bodies; JSON by default.
    public var payload = PayloadKind.json
    /// The timeout of a plugin call whose options set none; 60 s by default, so that a busy machine fails no test.
    public var timeout: Duration = .seconds(60)
    /// The clock that measures the timeout. With a ``ManualClock``, a test of a plugin that hangs does not wait:
    /// `await clock.tick { await tester.outcome(of: "{}") }`.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The logger of the supervisor and of the plugin's `context.logger`; discards its input by default.
    public var logger = Logger(label: "signalbox.test") { _ in SwiftLogNoOpLogHandler() }

    private let registration: Registration

    /// Tests a plugin or a closure as it would be registered, with its access rule and its options.
    ///
    /// - Parameter registration: The plugin. Its rule must permit ``source``, or ``facts`` where it asks for them;
    ///   `AccessRule.anyOrigin` leaves access out of the test.
    public init(_ registration: Registration) {
        self.registration = registration
        let recorder = RecordingSender()
        self.recorder = recorder
        sender = recorder
    }

    /// The actions that the plugin has sent with `context.sender`, in order.
    public var sent: [SentAction] { recorder.sent }

    /// Returns the outcome of an action with this body.
    ///
    /// - Parameters:
    ///   - body: JSON, or the format set by ``payload``. The text may be invalid.
    ///   - id: The value of `context.id`; `nil` assigns one.
    ///   - deadline: The latest time at which the plugin's call may start.
    public func outcome(
        of body: String,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcome(of: Bytes(body), id: id, deadline: deadline)
    }

    /// Returns the outcome of an action with this body, given as bytes.
    public func outcome(
        of body: Bytes,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcomes(of: [body], id: id, deadline: deadline)[0]
    }

    /// Returns the outcome of an action whose body is this value, encoded as JSON.
    ///
    /// - Throws: `BodyError` if the value has no JSON form.
    public func outcome(
        encoding body: some Encodable,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(BodyError) -> Outcome {
        await outcome(of: try BodyWriter.write(body), id: id, deadline: deadline)
    }

    /// Returns the outcomes of several actions that arrive in one batch, in their order. A `BatchPlugin` receives all
    /// valid bodies in one call.
    ///
    /// More than 1,000 bodies, or more than 16 MiB of them, exceed a source's window and arrive in several batches.
    public func outcomes(of bodies: [String]) async -> [Outcome] {
        await outcomes(of: bodies.map { Bytes($0) }, id: nil, deadline: nil)
    }

    /// Returns the plugin's reply to a body, decoded. A plugin without a reply replies `null`.
    ///
    /// - Throws: The `Outcome.Rejection`, `Outcome.Failure` or `Outcome.Abandonment` if the body was not handled;
    ///   `BodyError` if the reply does not decode as `type`.
    public func reply<Reply: Decodable>(as type: Reply.Type, to body: String) async throws -> Reply {
        switch await outcome(of: body) {
        case .handled(let reply): try Body(json: reply ?? Bytes("null")).decode(type)
        case .rejected(let rejection): throw rejection
        case .failed(let failure): throw failure
        case .abandoned(let abandonment): throw abandonment
        }
    }
}

// MARK: - Delivery

extension PluginTester {
    private func outcomes(of bodies: [Bytes], id: ActionID?, deadline: ContinuousClock.Instant?) async -> [Outcome] {
        var configuration = SupervisorConfiguration()
        configuration.timeout = timeout
        let supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        do {
            // The supervisor is new, so its names are free.
            try supervisor.register(registration)
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

extension AccessRule {
    /// Permits every origin. Use it in tests of a plugin whose access is not under test.
    public static let anyOrigin = AccessRule.named("any origin") { _ in true }
}
