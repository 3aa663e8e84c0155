import SignalboxCore

/// Shows and hides the loading indicator. The screen provides the closure.
@MainActor
final class LoadingPlugin: Plugin {
    nonisolated struct Info: Decodable, Sendable {
        let isShow: Bool
    }

    nonisolated let action: ActionName = "loading"
    private let handler: (Info, ActionContext) -> Void

    init(_ handler: @escaping (Info, ActionContext) -> Void) {
        self.handler = handler
    }

    func callAsAction(_ info: Info, context: ActionContext) async {
        handler(info, context)
    }
}
