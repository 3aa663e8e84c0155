public import SignalboxCore

/// How a registered plugin is called: its body decoded, its work done, its answer written.
///
/// Made by inlinable code, so that decoding is compiled for the plugin's own `Info` in the module that registers it.
@usableFromInline
enum PluginCall: Sendable {
    case sync(@Sendable (ActionContext) -> Outcome)
    case async(@Sendable (ActionContext) async -> Outcome)

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
}

extension Outcome {
    @usableFromInline
    static func rejected(invalidBody error: BodyError) -> Outcome {
        .rejected(Rejection(.invalidBody, error))
    }

    /// What an error says is shown to people, so its length is bounded.
    @usableFromInline
    static func failed(threw error: any Error) -> Outcome {
        if let failure = error as? Failure { return .failed(failure) }
        return .failed(Failure(.threw, detail: String("\(error)".prefix(500))))
    }
}
