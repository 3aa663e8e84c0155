public import SignalboxCore

/// Two plugins for one action: the second handles what the first declines.
///
/// The second is called if the body is not the first's `Info`, or if the first throws ``PluginDeclined``. The
/// composition is registered like any plugin, and either plugin may itself be a composition:
///
/// ```swift
/// struct CardPayment: Plugin {
///     struct Info: Decodable { let amount: Int, card: String }
///     let action: ActionName = "payment"
///
///     func callAsAction(_ info: Info, context: ActionContext) async throws -> String { "card \(info.amount)" }
/// }
///
/// struct InvoicePayment: Plugin {
///     struct Info: Decodable { let amount: Int, customer: String }
///     let action: ActionName = "payment"
///
///     func callAsAction(_ info: Info, context: ActionContext) async throws -> String {
///         guard info.amount <= 100 else { throw PluginDeclined("invoices go up to 100") }
///         return "invoice \(info.amount)"
///     }
/// }
///
/// try supervisor.register(FallbackPlugin(InvoicePayment(), otherwise: CardPayment()), from: .source("page"))
/// ```
///
/// If both decline, the outcome is `rejected(invalidBody)` with the reasons of both. The action's timeout covers both
/// calls together. Any other error of the first is its failure, and the second is not called.
public struct FallbackPlugin<First: Plugin, Second: Plugin>: Plugin where First.Reply == Second.Reply {
    /// A body that one of the two plugins takes.
    public typealias Info = FallbackInfo<First, Second>
    /// The reply type of both plugins.
    public typealias Reply = First.Reply

    /// The first plugin's action. The second plugin's own action is ignored.
    public let action: ActionName
    private let first: First
    private let second: Second

    /// - Parameters:
    ///   - first: The plugin to call first; its action applies.
    ///   - second: The plugin for actions that the first declines.
    public init(_ first: First, otherwise second: Second) {
        action = first.action
        self.first = first
        self.second = second
    }

    /// Calls the first plugin, or the second if the first declines.
    ///
    /// - Throws: ``PluginDeclined`` with both reasons if neither takes the action, or any other error of the plugin
    ///   that was called.
    public func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply {
        switch info.choice {
        case .first(let info):
            do {
                return try await first.callAsAction(info, context: context)
            } catch let declined as PluginDeclined {
                let reason = FallbackText.of(First.self, declined)
                return try await callSecond(try secondInfo(context, after: reason), context, after: reason)
            }
        case .second(let info, let finding):
            return try await callSecond(info, context, after: FallbackText.of(First.self, finding))
        }
    }

    private func secondInfo(_ context: ActionContext, after reason: String) throws -> Second.Info {
        do throws(BodyError) {
            return try context.body.decode(Second.Info.self)
        } catch {
            throw PluginDeclined("\(reason); \(FallbackText.of(Second.self, error))")
        }
    }

    private func callSecond(_ info: Second.Info, _ context: ActionContext, after reason: String) async throws -> Reply {
        do {
            return try await second.callAsAction(info, context: context)
        } catch let declined as PluginDeclined {
            throw PluginDeclined("\(reason); \(FallbackText.of(Second.self, declined))")
        }
    }
}

extension FallbackPlugin: ComposedPlugin {}

/// The body of an action, decoded for the first of two plugins, or else for the second.
public struct FallbackInfo<First: Plugin, Second: Plugin>: Decodable, Sendable {
    enum Choice: Sendable {
        case first(First.Info)
        /// The second's `Info`, with the error that kept the body from being the first's.
        case second(Second.Info, instead: BodyError)
    }

    let choice: Choice

    /// Decodes the first plugin's `Info`, or else the second's.
    ///
    /// - Throws: `BodyError` with both findings if neither fits. Code, path and offset are each kept if the findings
    ///   agree, and otherwise are `invalidValue`, `body` and `nil`.
    public init(from decoder: any Decoder) throws {
        let body = try decoder.singleValueContainer()
        let finding: BodyError
        do {
            choice = .first(try body.decode(First.Info.self))
            return
        } catch {
            finding = BodyError.from(error, in: decoder)
        }
        do {
            choice = .second(try body.decode(Second.Info.self), instead: finding)
        } catch {
            let other = BodyError.from(error, in: decoder)
            throw BodyError(
                finding.code == other.code ? other.code : .invalidValue,
                path: finding.path == other.path ? other.path : "body",
                offset: finding.offset == other.offset ? other.offset : nil,
                detail: "\(FallbackText.of(First.self, finding)); \(FallbackText.of(Second.self, other))"
            )
        }
    }
}

/// The reasons why plugins declined, each with the plugin's name. A composed plugin has already named its parts.
enum FallbackText {
    static func of(_ plugin: any Plugin.Type, _ finding: BodyError) -> String {
        plugin is any ComposedPlugin.Type ? finding.detail : "\(plugin): \(finding)"
    }

    static func of(_ plugin: any Plugin.Type, _ declined: PluginDeclined) -> String {
        plugin is any ComposedPlugin.Type ? declined.reason : "\(plugin): \(declined.reason)"
    }
}

/// A plugin composed of other plugins.
protocol ComposedPlugin {}
