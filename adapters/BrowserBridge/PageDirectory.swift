import JSBridge
import SignalboxCore
import Synchronization
import WebSocketChat

/// The connected pages, in the order in which they connected. The directory is safe to use from any thread.
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

    /// Returns the page of a connection. The first call for a connection creates the page.
    ///
    /// - Parameter origin: The origin that the server has given to the connection.
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

    /// Removes every page. The engine calls this method after a run has ended.
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

/// A connected page, with its program handle and its origin.
final class OpenPage: Sendable {
    let page: BrowserPage
    let handle: PageHandle
    let origin: Origin

    /// Creates the page of a connection.
    ///
    /// - Parameter connected: The origin of any arrival of the connection.
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
