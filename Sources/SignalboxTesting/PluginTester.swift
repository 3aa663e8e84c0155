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
/// Every call uses a separate supervisor with the same plugin, so calls do not wait for each other.
public struct PluginTester: Sendable {
    /// The action that the plugin is registered for.
    public var action: ActionName { registration.action }
    /// Records the actions that the plugin sends with `context.sender`, unless you replace ``sender``.
    public let recorder: RecordingSender
    /// The source that the bodies come from. The default is `test`.
    public var source: SourceName = "test"
    /// The value of `context.origin.facts`.
    public var facts: any OriginFacts = InMemoryFacts()
    /// The value of `context.sender`. The default is ``recorder``. Use `nil` to test with a source that accepts no
    /// pushes.
    public var sender: (any Sender)?
    /// How the bodies are encoded. The default is JSON.
    public var payload = PayloadKind.json
    /// The timeout of a plugin call if the plugin's options do not set one. The default is 60 s, so that no test fails
    /// because the machine is busy.
    public var timeout: Duration = .seconds(60)
    /// The clock that measures the timeout. To test a plugin that hangs, use a ``ManualClock``, so that the test does
    /// not have to wait: `await clock.tick { await tester.outcome(of: "{}") }`.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The logger used by the supervisor and as the plugin's `context.logger`. By default, all log lines are discarded.
    public var logger = Logger(label: "signalbox.test") { _ in SwiftLogNoOpLogHandler() }

    private let registration: Registration

    /// Creates a tester for a plugin or a closure. Write the registration as you would for a supervisor, with its
    /// access rule and its options.
    ///
    /// - Parameter registration: The plugin, whose rule must permit ``source`` and, if the rule checks the facts,
    ///   ``facts``. Use `AccessRule.anyOrigin` if access is not under test.
    public init(_ registration: Registration) {
        self.registration = registration
        let recorder = RecordingSender()
        self.recorder = recorder
        sender = recorder
    }

    /// The actions that the plugin has sent with `context.sender`, in order.
    public var sent: [SentAction] { recorder.sent }

    /// Sends an action with the given body to the plugin, and returns the outcome.
    ///
    /// - Parameters:
    ///   - body: The body as JSON, or in the format set by ``payload``. The body may be invalid.
    ///   - id: The value of `context.id`. If it is `nil`, an id is assigned.
    ///   - deadline: The latest time at which the plugin's call may start.
    public func outcome(
        of body: String,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcome(of: Bytes(body), id: id, deadline: deadline)
    }

    /// Sends an action whose body consists of the given bytes to the plugin, and returns the outcome.
    public func outcome(
        of body: Bytes,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        await outcomes(of: [body], id: id, deadline: deadline)[0]
    }

    /// Sends the plugin an action whose body is the value, encoded as JSON, and returns the outcome.
    ///
    /// - Throws: `BodyError` if the value cannot be encoded as JSON.
    public func outcome(
        encoding body: some Encodable,
        id: ActionID? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(BodyError) -> Outcome {
        await outcome(of: try BodyWriter.write(body), id: id, deadline: deadline)
    }

    /// Sends several actions to the plugin in one batch, and returns their outcomes in the order of the bodies. A
    /// `BatchPlugin` receives all valid bodies in one call.
    ///
    /// More than 1,000 bodies, or bodies of more than 16 MiB in total, exceed a source's window and arrive in several
    /// batches.
    public func outcomes(of bodies: [String]) async -> [Outcome] {
        await outcomes(of: bodies.map { Bytes($0) }, id: nil, deadline: nil)
    }

    /// Sends an action with the given body to the plugin, and returns the reply, decoded as `type`. For a plugin that
    /// sends no reply, `null` is decoded.
    ///
    /// - Throws: The `Outcome.Rejection`, `Outcome.Failure` or `Outcome.Abandonment` if the action was not handled, or
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
    /// Permits every origin. Use this rule to test a plugin whose access is not under test.
    public static let anyOrigin = AccessRule.named("any origin") { _ in true }
}
