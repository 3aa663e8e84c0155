import AppScheme
import JSBridge
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// One screen of the application: a page, the plugins that it may call, and the printed events.
struct ShopScreen {
    let name: SourceName
    /// Permits the callers: the page's main frame.
    let rule: AccessRule
    let links: LinkInbox
    let logger: Logger

    /// Prints a line about the screen.
    func told(_ line: String) {
        print("\(name): \(line)")
    }

    /// Runs the page until it closes.
    ///
    /// - Parameter picture: Takes a picture of the page, when the page requests it.
    /// - Throws: ``ShopError`` if the page's script failed, for example because of a call.
    @MainActor
    func show(_ engine: some Adapter, picture: @escaping @Sendable () async throws -> Void) async throws {
        let supervisor = Supervisor(logger: logger)
        let routes = try AppRoutes([AppRoute(URLPattern("shop://card/{card}"), action: "openCard")])
        try supervisor.add(AppSchemeAdapter(source: "links", routes: routes, links: links, logger: logger))
        try supervisor.add(engine)
        let told = told
        try supervisor.register(
            Registration(LoadingPlugin { info, _ in told("loading \(info.isShow ? "begins" : "ends")") }, from: rule)
        )
        try supervisor.register(Registration(PaymentPlugin(told: told), from: rule))
        try supervisor.register(
            Registration("openCard", as: Card.self, from: .any([rule, .link(scheme: "shop")])) { card, _ in
                told("the card \(card.card)")
            }
        )
        try supervisor.register(Registration("log", as: Line.self, from: rule) { line, _ in told("log: \(line.text)") })
        try supervisor.register(
            Registration("user", as: String.self, from: rule) { greeting, _ in told("user: \(greeting)") }
        )
        try supervisor.register(
            Registration("title", as: Nothing.self, from: rule) { _, context in context.page?.title ?? "" }
        )
        try supervisor.register(Registration("picture", as: Nothing.self, from: rule) { _, _ in try await picture() })
        // Closes both sources, so that the supervisor's run ends.
        let failure = Mutex<ShopError?>(nil)
        try supervisor.register(
            Registration("page", as: String.self, from: rule) { wish, context in
                guard wish == "Close" || wish.hasPrefix("Failed: ") else { return }
                if wish == "Close" {
                    told("closed")
                } else {
                    failure.withLock { $0 = ShopError(page: name, message: wish) }
                }
                context.page?.close()
                links.close()
            }
        )
        try await supervisor.run()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private struct Card: Decodable, Sendable { let card: String }
    private struct Line: Decodable, Sendable { let text: String }
    private struct Nothing: Decodable, Sendable {}
}

/// The script of a page failed.
struct ShopError: Error, CustomStringConvertible {
    let page: SourceName
    let message: String

    var description: String { "the page \(page) did not finish. \(message)" }
}
