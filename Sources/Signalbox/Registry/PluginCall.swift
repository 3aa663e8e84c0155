public import SignalboxCore

/// How a registered plugin is called: its body decoded, its work done, its answer written.
///
/// Made by inlinable code, so that decoding is compiled for the plugin's own `Info` in the module that registers it.
@usableFromInline
enum PluginCall: Sendable {
    case sync(@Sendable (ActionContext) -> Outcome)
    case async(@Sendable (ActionContext) async -> Outcome)
    /// Answers with as many outcomes as it is given contexts, in the same order.
    case batch(@Sendable ([ActionContext]) async -> [Outcome])

    var takesWholeRuns: Bool {
        if case .batch = self { true } else { false }
    }

    @inlinable
    static func make<Info: Decodable & Sendable>(
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) -> PluginCall {
        .sync { context in
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
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) -> PluginCall {
        .sync { context in
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
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) -> PluginCall {
        .async { context in
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
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) -> PluginCall {
        .async { context in
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

extension Outcome {
    @usableFromInline
    static func rejected(invalidBody error: BodyError) -> Outcome {
        .rejected(Rejection(.invalidBody, error))
    }

    /// What an error says is shown to people, so its length is bounded. A plugin that declines has not failed.
    @usableFromInline
    static func failed(threw error: any Error) -> Outcome {
        if let failure = error as? Failure { return .failed(failure) }
        if let declined = error as? PluginDeclined {
            return .rejected(Rejection(.invalidBody, detail: String(declined.description.prefix(500))))
        }
        let isRetryable = (error as? any RetryableError)?.isRetryable ?? false
        return .failed(Failure(.threw, detail: String("\(error)".prefix(500)), isRetryable: isRetryable))
    }
}
