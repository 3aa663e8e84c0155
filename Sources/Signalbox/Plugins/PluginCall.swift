public import SignalboxCore

/// The call of a registered plugin: decoding the body, running the handler and encoding the reply.
///
/// It is built by inlinable code, so that decoding is specialized for the plugin's `Info` in the registering module.
@usableFromInline
enum PluginCall: Sendable {
    case sync(@Sendable (ActionContext) -> Outcome)
    case async(@Sendable (ActionContext) async -> Outcome)
    /// Decodes the body first, because the lane needs the action's key.
    case keyed(@Sendable (ActionContext) -> PreparedCall)
    /// Returns one outcome per context, in the same order.
    case batch(@Sendable ([ActionContext]) async -> [Outcome])

    var takesWholeSlices: Bool {
        if case .batch = self { true } else { false }
    }
}

// MARK: - Plugin forms

// Each form is written out: another asynchronous closure between lane and plugin costs a tenth of a dispatch.
extension PluginCall {
    @inlinable
    static func make<Info: Decodable & Sendable>(
        order: LaneOrder<Info>,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key) { info, context in
                try handler(info, context)
                return nil
            }
        }
        return .sync { context in
            let info: Info
            do throws(BodyError) { info = try context.body.decode(Info.self) } catch {
                return .rejected(invalidBody: error)
            }
            do {
                try handler(info, context)
                return .handled(reply: nil)
            } catch { return .failed(threw: error) }
        }
    }

    @inlinable
    static func make<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        order: LaneOrder<Info>,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key) { info, context in try BodyWriter.write(try handler(info, context)) }
        }
        return .sync { context in
            let info: Info
            do throws(BodyError) { info = try context.body.decode(Info.self) } catch {
                return .rejected(invalidBody: error)
            }
            do {
                return .handled(reply: try BodyWriter.write(try handler(info, context)))
            } catch { return .failed(threw: error) }
        }
    }

    @inlinable
    static func make<Info: Decodable & Sendable>(
        order: LaneOrder<Info>,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key) { info, context in
                try await handler(info, context)
                return nil
            }
        }
        return .async { context in
            let info: Info
            do throws(BodyError) { info = try context.body.decode(Info.self) } catch {
                return .rejected(invalidBody: error)
            }
            do {
                try await handler(info, context)
                return .handled(reply: nil)
            } catch { return .failed(threw: error) }
        }
    }

    @inlinable
    static func make<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        order: LaneOrder<Info>,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) -> PluginCall {
        if case .key(let key) = order.rule {
            return keyed(key) { info, context in try BodyWriter.write(try await handler(info, context)) }
        }
        return .async { context in
            let info: Info
            do throws(BodyError) { info = try context.body.decode(Info.self) } catch {
                return .rejected(invalidBody: error)
            }
            do {
                return .handled(reply: try BodyWriter.write(try await handler(info, context)))
            } catch { return .failed(threw: error) }
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
                do throws(BodyError) { batch.append((try context.body.decode(Info.self), context)) } catch {
                    outcomes[position] = .rejected(invalidBody: error)
                }
            }
            guard !batch.isEmpty else { return outcomes }
            do { try await handler(batch) } catch {
                let failure = Outcome.failed(threw: error)
                for position in outcomes.indices where outcomes[position] == .handled(reply: nil) {
                    outcomes[position] = failure
                }
            }
            return outcomes
        }
    }
}

// MARK: - Keyed calls

extension PluginCall {
    @inlinable
    static func keyed<Info: Decodable & Sendable>(
        _ key: @escaping @Sendable (Info) -> LaneKey,
        _ reply: @escaping @Sendable (Info, ActionContext) async throws -> Bytes?
    ) -> PluginCall {
        .keyed { context in
            let info: Info
            do throws(BodyError) { info = try context.body.decode(Info.self) } catch {
                return .refused(.rejected(invalidBody: error))
            }
            return .keyed(key(info)) { context in
                do {
                    return .handled(reply: try await reply(info, context))
                } catch { return .failed(threw: error) }
            }
        }
    }
}

extension Outcome {
    /// Redacts and bounds the error: an `Info` that validates itself may quote its values, at any length.
    @usableFromInline
    static func rejected(invalidBody error: BodyError) -> Outcome {
        let (path, detail) = (Redaction.detail(error.path), Redaction.detail(error.detail))
        guard path != error.path || detail != error.detail else { return .rejected(Rejection(.invalidBody, error)) }
        let shown = BodyError(error.code, path: path, offset: error.offset, detail: detail)
        return .rejected(Rejection(.invalidBody, shown))
    }

    /// Returns the outcome for a thrown error. Its text is shown to people and sent to callers, so it is redacted and
    /// its length is bounded. A plugin that declines has not failed.
    @usableFromInline
    static func failed(threw error: any Error) -> Outcome {
        if let failure = error as? Failure {
            let detail = Redaction.detail(failure.detail)
            return .failed(
                Failure(
                    failure.reason,
                    detail: detail,
                    isRetryable: failure.isRetryable,
                    whenExhausted: failure.whenExhausted
                )
            )
        }
        if let declined = error as? PluginDeclined {
            return .rejected(Rejection(.invalidBody, detail: Redaction.detail(declined.description)))
        }
        let detail = Redaction.detail("\(error)")
        guard let error = error as? any RetryableError else { return .failed(Failure(.threw, detail: detail)) }
        let (isRetryable, exhaustion) = (error.isRetryable, error.whenExhausted)
        return .failed(Failure(.threw, detail: detail, isRetryable: isRetryable, whenExhausted: exhaustion))
    }
}

/// A call whose body has been decoded.
@usableFromInline
enum PreparedCall: Sendable {
    /// The action's key and the call of the plugin.
    case keyed(LaneKey, @Sendable (ActionContext) async -> Outcome)
    /// The body does not match the plugin's `Info`.
    case refused(Outcome)
}

/// An error with which a plugin declines an action although its body fits.
///
/// The outcome is `rejected(invalidBody)` with this reason. It is not a failure, so it is not retried and does not
/// affect a circuit breaker.
public struct PluginDeclined: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in words. It is logged and sent as a reply, so it must not contain the message's content.
    public let reason: String

    /// - Parameter reason: The reason, in words, without the message's content.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// `declined:` and the reason.
    public var description: String { "declined: \(reason)" }
}
