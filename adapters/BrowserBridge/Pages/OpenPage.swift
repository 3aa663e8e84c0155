import JSBridge
import SignalboxCore
import WebSocketChat

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
