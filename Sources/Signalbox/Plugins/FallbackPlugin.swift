public import SignalboxCore

/// Two plugins for one action: what the first declines the second takes.
///
/// The second is asked when the body is not the first's `Info`, and when the first throws ``PluginDeclined``. It is
/// registered like any plugin, and one of the two may be composed itself:
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
/// When neither takes it the outcome is `rejected(invalidBody)` and says what kept each from it. Both calls together have
/// the one timeout of the action. Whatever else the first throws is its failure, and the second is not asked.
public struct FallbackPlugin<First: Plugin, Second: Plugin>: Plugin where First.Reply == Second.Reply {
    /// A body that one of the two takes.
    public typealias Info = FallbackInfo<First, Second>
    /// What both answer with.
    public typealias Reply = First.Reply

    /// The first plugin's. The second may be made for another name; it is not looked at.
    public let action: ActionName
    private let first: First
    private let second: Second

    /// - Parameters:
    ///   - first: asked first; its action counts.
    ///   - second: asked for what the first declines.
    public init(_ first: First, otherwise second: Second) {
        action = first.action
        self.first = first
        self.second = second
    }

    /// Asks the first plugin, or else the second.
    ///
    /// - Throws: ``PluginDeclined`` when neither takes the action, with the reasons of both; any other error of the one that
    ///   was called.
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

/// The body of an action as the first of two plugins takes it, else as the second does.
public struct FallbackInfo<First: Plugin, Second: Plugin>: Decodable, Sendable {
    enum Choice: Sendable {
        case first(First.Info)
        /// With what kept the body from being the first's.
        case second(Second.Info, instead: BodyError)
    }

    let choice: Choice

    /// Reads the first's `Info`, or else the second's.
    ///
    /// - Throws: `BodyError` with both findings when neither fits. What they have in common of code, place and offset is
    ///   the error's; else it is an `invalidValue` of the whole body.
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

/// Why a plugin did not take an action, with the plugin's name. One that consists of plugins has named each of them.
enum FallbackText {
    static func of(_ plugin: any Plugin.Type, _ finding: BodyError) -> String {
        plugin is any ComposedPlugin.Type ? finding.detail : "\(plugin): \(finding)"
    }

    static func of(_ plugin: any Plugin.Type, _ declined: PluginDeclined) -> String {
        plugin is any ComposedPlugin.Type ? declined.reason : "\(plugin): \(declined.reason)"
    }
}

/// A plugin that consists of plugins.
protocol ComposedPlugin {}
