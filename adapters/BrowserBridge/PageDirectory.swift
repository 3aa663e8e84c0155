import JSBridge
import SignalboxCore
import Synchronization
import WebSocketChat

/// Holds the connected pages, in the order in which they connected. Safe to use from any thread.
final class PageDirectory: Sendable {
    private struct State {
        var pages: [ObjectIdentifier: (serial: UInt64, page: OpenPage)] = [:]
        var opened: UInt64 = 0
    }

    private let configuration: BrowserConfiguration
    private let state = Mutex(State())

    init(_ configuration: BrowserConfiguration) {
        self.configuration = configuration
    }

    /// Returns the page for a connection, creating it on the first call.
    ///
    /// - Parameter origin: The origin that the server assigned to the connection.
    func page(of chat: ChatConnection, _ origin: Origin) -> OpenPage {
        state.withLock { state in
            // The page retains the connection, so the identifier stays unique.
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
        page?.page.page.disconnected()
    }

    /// Removes every page. Called after a run has ended.
    func closeAll() {
        let pages = state.withLock { state in
            defer { state.pages = [:] }
            return state.pages
        }
        for page in pages.values { page.page.page.disconnected() }
    }

    var handles: [PageHandle] {
        state.withLock { $0.pages.values.sorted { $0.serial < $1.serial }.map(\.page.handle) }
    }
}

/// A connected page, with the handle that programs use and its origin.
final class OpenPage: Sendable {
    let page: BrowserPage
    let handle: PageHandle
    let origin: Origin

    /// Creates the page for a connection.
    ///
    /// - Parameter connected: The origin of any arrival from the connection.
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
