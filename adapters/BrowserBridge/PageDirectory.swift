import JSBridge
import SignalboxCore
import Synchronization
import WebSocketChat

/// The pages that are connected, in the order in which they did. Any thread.
final class PageDirectory: Sendable {
    private struct State {
        var pages: [ObjectIdentifier: (place: UInt64, page: OpenPage)] = [:]
        var opened: UInt64 = 0
    }

    private let configuration: BrowserConfiguration
    private let state = Mutex(State())

    init(_ configuration: BrowserConfiguration) {
        self.configuration = configuration
    }

    /// The page of a connection, which is new when it is not known.
    ///
    /// - Parameter origin: as the connection's server gives it.
    func page(of chat: ChatConnection, _ origin: Origin) -> OpenPage {
        state.withLock { state in
            // The page keeps the connection, so nothing else gets its place in memory.
            let key = ObjectIdentifier(chat)
            if let known = state.pages[key] { return known.page }
            let page = OpenPage(chat, origin, configuration)
            state.opened += 1
            state.pages[key] = (state.opened, page)
            return page
        }
    }

    func closed(_ chat: ChatConnection) {
        let page = state.withLock { $0.pages.removeValue(forKey: ObjectIdentifier(chat)) }
        page?.page.page.gone()
    }

    /// The run has ended.
    func closeAll() {
        let pages = state.withLock { state in
            defer { state.pages = [:] }
            return state.pages
        }
        for page in pages.values { page.page.page.gone() }
    }

    var handles: [PageHandle] {
        state.withLock { $0.pages.values.sorted { $0.place < $1.place }.map(\.page.handle) }
    }
}

/// A page that is connected: as the adapter, the program and access rules see it.
final class OpenPage: Sendable {
    let page: BrowserPage
    let handle: PageHandle
    let origin: Origin

    /// - Parameter connected: any arrival of the connection.
    init(_ chat: ChatConnection, _ connected: Origin, _ configuration: BrowserConfiguration) {
        page = BrowserPage(chat, configuration)
        handle = PageHandle(port: page)
        let facts = connected.facts as? ChatFacts
        origin = Origin(
            source: configuration.source,
            facts: ScriptFacts(
                engine: "Browser",
                isMainFrame: facts?.isOwnPage == true ? .yes : .unknown,
                origin: facts?.origin
            )
        )
    }
}
