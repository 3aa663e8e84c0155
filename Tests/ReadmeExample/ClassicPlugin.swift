import SignalboxCore

/// The classic form: the plugin belongs to the screen, and the screen sets a closure on it.
///
/// Compiles as it stands and with `-default-isolation MainActor`, which requires a `nonisolated` `Info`.
@MainActor
final class LoadingPlugin: Plugin {
    nonisolated struct Info: Decodable, Sendable {
        let isVisible: Bool
        let title: String?
    }

    nonisolated let action: ActionName = "loading"
    var onChange: (Info) -> Void = { _ in }

    func callAsAction(_ info: Info, context: ActionContext) async {
        onChange(info)
    }
}

/// A plugin that answers and may throw.
@MainActor
final class TitlePlugin: Plugin {
    nonisolated struct Info: Decodable, Sendable {
        let title: String
    }

    nonisolated struct Reply: Encodable, Sendable {
        let length: Int
    }

    nonisolated enum TitleError: Error {
        case empty
    }

    nonisolated let action: ActionName = "title"
    private(set) var title = ""

    func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply {
        if info.title.isEmpty { throw TitleError.empty }
        title = info.title
        return Reply(length: title.count)
    }
}
