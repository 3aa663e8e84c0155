import JSBridge
import SignalboxCore

/// The classic plugin of a web view: the screen sets a closure on it, which receives the calling page.
@MainActor
final class OpenCardPlugin: Plugin {
    nonisolated struct Info: Decodable, Sendable {
        let card: String
    }

    nonisolated enum OpenCardError: Error {
        case noPage
    }

    nonisolated let action: ActionName = "openCard"
    private var handler: (Info, PageHandle) -> Void = { _, _ in }

    func set(_ handler: @escaping (Info, PageHandle) -> Void) {
        self.handler = handler
    }

    func callAsAction(_ info: Info, context: ActionContext) async throws {
        guard let page = context.page else { throw OpenCardError.noPage }
        handler(info, page)
    }
}

/// A screen and its plugin.
@MainActor
final class CardScreen {
    let openCard = OpenCardPlugin()
    private(set) var title = ""

    func load() {
        openCard.set { [weak self] info, page in
            self?.title = page.title ?? info.card
            try? page.send("opened", ["card": info.card])
        }
    }
}
