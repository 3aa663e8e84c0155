import Signalbox
import SignalboxCore

/// A built-in plugin: how it is registered alone, and how a chain calls it as a step.
struct BuiltIn: Sendable {
    /// Calls the plugin, and returns its reply as JSON or `nil` for none. A plugin that ends its own calls does so after the
    /// timeout.
    typealias Call = @Sendable (RawBody, ActionContext, _ timeout: Duration) async throws -> Bytes?

    /// Returns the registration of the plugin alone, which calls it without a closure in between.
    let registration: @Sendable (AccessRule, PluginOptions<RawBody>) -> Registration
    let call: Call
}

extension BuiltIn {
    /// Creates a plugin from a closure that ends its own calls.
    ///
    /// - Parameter timeout: The timeout of each call if the plugin is registered alone.
    init(_ action: ActionName, timeout: Duration, _ call: @escaping Call) {
        registration = { rule, options in
            Registration(action, from: rule, options: options, replyingWithJSON: { try await call($0, $1, timeout) })
        }
        self.call = call
    }

    /// Creates a plugin from a synchronous closure.
    init(_ action: ActionName, _ reply: @escaping @Sendable (RawBody, ActionContext) throws -> Bytes?) {
        registration = { Registration(action, from: $0, options: $1, replyingWithJSON: reply) }
        call = { body, context, _ in try reply(body, context) }
    }

    init<P: SyncPlugin<RawBody>>(_ plugin: P) where P.Reply == Void {
        registration = { Registration(plugin, from: $0, options: $1) }
        call = { body, context, _ in
            try plugin.callAsAction(body, context: context)
            return nil
        }
    }

    init<P: SyncPlugin<RawBody>>(_ plugin: P) where P.Reply: Encodable {
        registration = { Registration(plugin, from: $0, options: $1) }
        call = { body, context, _ in try BodyWriter.write(try plugin.callAsAction(body, context: context)) }
    }

    init<P: Plugin<RawBody>>(_ plugin: P) where P.Reply == Void {
        registration = { Registration(plugin, from: $0, options: $1) }
        call = { body, context, _ in
            try await plugin.callAsAction(body, context: context)
            return nil
        }
    }

    init<P: Plugin<RawBody>>(_ plugin: P) where P.Reply: Encodable {
        registration = { Registration(plugin, from: $0, options: $1) }
        call = { body, context, _ in try BodyWriter.write(try await plugin.callAsAction(body, context: context)) }
    }

    /// Creates a plugin that handles its actions in batches when it is registered alone.
    ///
    /// - Parameter isKeyed: Whether the actions are ordered by a key. A batch may contain many keys, so there are no batches then.
    init(_ plugin: FilePlugin, isKeyed: Bool) {
        let single = FileLinePlugin(file: plugin)
        registration = { rule, options in
            guard isKeyed else { return Registration(plugin, from: rule, options: options) }
            return Registration(single, from: rule, options: options)
        }
        call = { body, context, _ in
            try await single.callAsAction(body, context: context)
            return nil
        }
    }
}
