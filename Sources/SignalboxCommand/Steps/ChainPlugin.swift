import Logging
import Signalbox
import SignalboxCore

/// Hands an action to several steps in order, and stops at the first that fails or drops it. The reply is that of the last step.
struct ChainPlugin: Sendable {
    /// A step with its state.
    enum Step: Sendable {
        case filter(FilterSection)
        case map(BodyTemplate)
        case throttle(ThrottleStep)
        case sample(SampleStep)
        case aggregate(AggregateStep)
        case call(BuiltIn.Call)
    }

    /// The steps with their names for messages.
    private let steps: [(step: Step, label: String)]
    private let limits: MessageLimits

    /// - Parameter limits: The limits for a mapped body.
    init(_ steps: [(step: Step, use: PluginUse)], limits: MessageLimits) {
        self.steps = steps.enumerated().map { ($1.step, PluginUse.label($0, $1.use)) }
        self.limits = PluginUse.bodyLimits(limits, steps.map(\.use))
    }

    /// - Parameter timeout: How long all steps together may take.
    /// - Throws: The error of the step that failed, with the name of the step.
    func reply(to body: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes? {
        try await run(0, body, context, until: .now + timeout)
    }

    private func run(
        _ first: Int,
        _ body: RawBody,
        _ context: ActionContext,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bytes? {
        var (body, context, reply) = (body, context, Bytes?.none)
        for index in first..<steps.count {
            let (step, label) = steps[index]
            // An error of a later step already has the name of that step.
            if case .aggregate(let aggregate) = step {
                return try await aggregate.call(context, deadline: deadline) { try await handOn($0, to: index + 1) }
            }
            do {
                switch step {
                case .map(let template):
                    (body, context) = try mapped(template.body(for: context.action, limit: limits.bytes), context)
                    reply = body.bytes
                case .call(let call):
                    let remaining = deadline - .now
                    guard remaining > .zero else { throw Outcome.Failure(.timeout, detail: "no time was left for it") }
                    reply = try await call(body, context, remaining)
                case .filter, .throttle, .sample, .aggregate:
                    guard try await passes(step, context, deadline) else {
                        context.logger.debug("action dropped", metadata: [LogField.step.rawValue: "\(label)"])
                        return nil
                    }
                }
            } catch {
                throw StepError.named(error, label)
            }
        }
        return reply
    }

    private func passes(_ step: Step, _ context: ActionContext, _ deadline: ContinuousClock.Instant) async throws
        -> Bool
    {
        switch step {
        case .filter(let filter):
            if filter.condition.holds(for: context.action) { return true }
            guard filter.rejects else { return false }
            throw PluginDeclined(FilterSection.rejection)
        case .throttle(let throttle): return try await throttle.passes(until: deadline)
        case .sample(let sample): return sample.passes(context.action)
        case .map, .aggregate, .call: return true
        }
    }

    private func handOn(_ bodies: CollectedBodies, to index: Int) async throws -> Bytes? {
        guard let first = bodies.first else { return nil }
        let (body, context) = try mapped(bodies.json, first)
        return try await run(index, body, context, until: bodies.deadline)
    }

    /// Returns the action with another body.
    private func mapped(_ json: Bytes, _ context: ActionContext) throws(PluginDeclined) -> (RawBody, ActionContext) {
        let next = context.replacing(try context.arrival.mapped(to: json, limits))
        return (RawBody(bytes: next.body.json, kind: .json), next)
    }
}

extension FilterSection {
    /// Why an action is rejected. It does not contain the message's content.
    static let rejection = "its condition 'when' is not true"
}

extension Arrival {
    /// Returns the same action with the body that a step hands on.
    ///
    /// - Throws: `PluginDeclined` if the body is too large or too deep.
    func mapped(to json: Bytes, _ limits: MessageLimits) throws(PluginDeclined) -> Arrival {
        do throws(BodyError) {
            return try replacingBody(json, limits: limits)
        } catch {
            throw PluginDeclined("the body that it hands on exceeds a limit: \(error)")
        }
    }
}

extension PluginUse {
    /// Returns the limits for the bodies within a chain. A list may be larger than a message.
    static func bodyLimits(_ limits: MessageLimits, _ steps: [PluginUse]) -> MessageLimits {
        var room = 0
        for case .aggregate(let aggregate) in steps { room += aggregate.maximumBytes + aggregate.count + 1 }
        return MessageLimits(bytes: limits.bytes + room, depth: min(512, limits.depth + (room > 0 ? 1 : 0)))
    }
}

/// Adds the name of the failed step to errors, without a change to the kind of the outcome.
enum StepError {
    static func named(_ error: any Error, _ label: String) -> any Error {
        switch error {
        case is CancellationError: return error
        case let error as PluginDeclined: return PluginDeclined("\(label): \(error.reason)")
        case let error as ActionRefused:
            let rejection = error.rejection
            return ActionRefused(Outcome.Rejection(rejection.reason, detail: "\(label): \(rejection.detail)"))
        default: return failure(error, label)
        }
    }

    private static func failure(_ error: any Error, _ label: String) -> Outcome.Failure {
        let (known, retryable) = (error as? Outcome.Failure, error as? any RetryableError)
        var failure = Outcome.Failure(
            known?.reason ?? .threw,
            detail: "\(label): \(known?.detail ?? "\(error)")",
            isRetryable: known?.isRetryable ?? retryable?.isRetryable ?? false,
            whenExhausted: known?.whenExhausted ?? retryable?.whenExhausted ?? .deadLetter
        )
        failure.retryDelay = known?.retryDelay ?? retryable?.retryDelay
        return failure
    }
}
