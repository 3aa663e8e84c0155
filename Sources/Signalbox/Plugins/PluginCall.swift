public import SignalboxCore

/// Calls a registered plugin: decodes the body, runs the handler and encodes the reply.
///
/// The call is built in inlinable code, so that decoding is specialized for the plugin's `Info` in the module that
/// registers the plugin.
@usableFromInline
enum PluginCall: Sendable {
    case sync(@Sendable (ActionContext) -> Outcome)
    case async(@Sendable (ActionContext) async -> Outcome)
    /// Decodes the body before the call, because the lane needs the action's key.
    case keyed(@Sendable (ActionContext) -> PreparedCall)
    /// Handles several actions in one call. Returns one outcome per context, in the same order.
    case batch(@Sendable ([ActionContext]) async -> [Outcome])

    var takesWholeSlices: Bool {
        if case .batch = self { true } else { false }
    }
}

// MARK: - Plugin forms

// All forms are written out, because one more asynchronous closure between the lane and the plugin would cost a tenth
// of a dispatch.
extension PluginCall {
    /// Returns a call of a synchronous handler.
    ///
    /// - Parameter reply: A closure that encodes the handler's result.
    @inlinable
    static func make<Info: Decodable & Sendable, Reply>(
        _ order: LaneOrder<Info>,
        reply: @escaping @Sendable (Reply) throws -> Bytes?,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key, reply: reply) { info, context in try handler(info, context) }
        }
        return .sync { context in
            do {
                return .handled(reply: try reply(try handler(try context.info(), context)))
            } catch { return .notHandled(threw: error) }
        }
    }

    /// Returns a call of an asynchronous handler without a reply.
    @inlinable
    static func make<Info: Decodable & Sendable>(
        _ order: LaneOrder<Info>,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) -> PluginCall {
        if case .key(let key) = order.rule { return keyed(key, handler) }
        return .async { context in
            do {
                try await handler(try context.info(), context)
                return .handled(reply: nil)
            } catch { return .notHandled(threw: error) }
        }
    }

    /// Returns a call of an asynchronous handler. The reply is still encoded synchronously.
    @inlinable
    static func make<Info: Decodable & Sendable, Reply>(
        _ order: LaneOrder<Info>,
        reply: @escaping @Sendable (Reply) throws -> Bytes?,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key, reply: reply, handler)
        }
        return .async { context in
            do {
                return .handled(reply: try reply(try await handler(try context.info(), context)))
            } catch { return .notHandled(threw: error) }
        }
    }

    @inlinable
    static func makeBatch<Info: Decodable & Sendable>(
        _ handler: @escaping @Sendable ([(info: Info, context: ActionContext)]) async throws -> Void
    ) -> PluginCall {
        .batch { contexts in
            var outcomes = [Outcome](repeating: .handled(reply: nil), count: contexts.count)
            var batch: [(info: Info, context: ActionContext)] = []
            for (position, context) in contexts.enumerated() {
                do { batch.append((try context.info(), context)) } catch {
                    outcomes[position] = .notHandled(threw: error)
                }
            }
            guard !batch.isEmpty else { return outcomes }
            do { try await handler(batch) } catch {
                let failure = Outcome.notHandled(threw: error)
                for position in outcomes.indices where outcomes[position] == .handled(reply: nil) {
                    outcomes[position] = failure
                }
            }
            return outcomes
        }
    }

    /// Returns a call that decodes the body first, of a handler without a reply.
    @inlinable
    static func keyed<Info: Decodable & Sendable>(
        _ key: @escaping @Sendable (Info) -> LaneKey,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) -> PluginCall {
        .keyed { context in
            let info: Info
            do { info = try context.info() } catch { return .refused(.notHandled(threw: error)) }
            return .keyed(key(info)) { context in
                do {
                    try await handler(info, context)
                    return .handled(reply: nil)
                } catch { return .notHandled(threw: error) }
            }
        }
    }

    /// Returns a call that decodes the body first, of a handler with a reply.
    @inlinable
    static func keyed<Info: Decodable & Sendable, Reply>(
        _ key: @escaping @Sendable (Info) -> LaneKey,
        reply: @escaping @Sendable (Reply) throws -> Bytes?,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) -> PluginCall {
        .keyed { context in
            let info: Info
            do { info = try context.info() } catch { return .refused(.notHandled(threw: error)) }
            return .keyed(key(info)) { context in
                do {
                    return .handled(reply: try reply(try await handler(info, context)))
                } catch { return .notHandled(threw: error) }
            }
        }
    }
}

/// A call whose body has been decoded.
@usableFromInline
enum PreparedCall: Sendable {
    /// The body has been decoded. The associated values are the action's key and the call of the plugin.
    case keyed(LaneKey, @Sendable (ActionContext) async -> Outcome)
    /// The body does not match the plugin's `Info`.
    case refused(Outcome)
}

extension ActionContext {
    /// Decodes the body before the plugin is called.
    @inlinable
    func info<Info: Decodable>() throws -> Info {
        do throws(BodyError) { return try body.decode(Info.self) } catch { throw InvalidBody(error: error) }
    }
}

/// The error for a body that does not decode as the plugin's `Info`. The error has a separate type, because a
/// `BodyError` that the plugin itself throws is a failure of the plugin.
@usableFromInline
struct InvalidBody: Error {
    let error: BodyError

    @usableFromInline
    init(error: BodyError) {
        self.error = error
    }
}

// MARK: - Outcomes of errors

extension Outcome {
    /// Returns the outcome for an error that was thrown. The error's text is shown to people and sent to callers, so it
    /// is redacted and limited in length. If the plugin declined the action, the outcome is not a failure.
    @usableFromInline
    static func notHandled(threw error: any Error) -> Outcome {
        switch error {
        case let error as InvalidBody: return .rejected(invalidBody: error.error)
        case let refused as ActionRefused: return .rejected(refused.rejection)
        case let declined as PluginDeclined:
            return .rejected(Rejection(.invalidBody, detail: Redaction.detail(declined.description)))
        default: return .failed(Failure(threw: error))
        }
    }

    /// Returns the rejection for a body. An `Info` that validates itself may quote its values at any length, so the
    /// error is redacted and limited in length.
    static func rejected(invalidBody error: BodyError) -> Outcome {
        let (path, detail) = (Redaction.detail(error.path), Redaction.detail(error.detail))
        guard path != error.path || detail != error.detail else { return .rejected(Rejection(.invalidBody, error)) }
        let shown = BodyError(error.code, path: path, offset: error.offset, detail: detail)
        return .rejected(Rejection(.invalidBody, shown))
    }
}

extension Outcome.Failure {
    fileprivate init(threw error: any Error) {
        let failure = error as? Outcome.Failure
        let retryable = error as? any RetryableError
        self.init(
            failure?.reason ?? .threw,
            detail: Redaction.detail(failure?.detail ?? "\(error)"),
            isRetryable: failure?.isRetryable ?? retryable?.isRetryable ?? false,
            whenExhausted: failure?.whenExhausted ?? retryable?.whenExhausted ?? .deadLetter
        )
        retryDelay = failure?.retryDelay ?? retryable?.retryDelay
    }
}

/// Rejects an action with another reason than `invalidBody`, for a plugin of the command that limits its own calls.
package struct ActionRefused: Error {
    package let rejection: Outcome.Rejection

    /// - Parameter rejection: The rejection. Its detail must not contain the message's content.
    package init(_ rejection: Outcome.Rejection) {
        self.rejection = rejection
    }
}

/// Throw this error from a plugin to decline an action whose body decodes, but whose values are not acceptable.
///
/// The outcome is `rejected(invalidBody)` with the reason that you give. This is not a failure, so the action is not
/// retried and a circuit breaker does not count it.
public struct PluginDeclined: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in words, which is logged and sent as a reply, so it must not contain the message's content.
    public let reason: String

    /// Creates the error.
    ///
    /// - Parameter reason: The reason, in words. It must not contain the message's content.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// The text `declined:`, followed by the reason.
    public var description: String { "declined: \(reason)" }
}
