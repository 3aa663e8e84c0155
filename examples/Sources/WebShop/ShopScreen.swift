import AppScheme
import JSBridge
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

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
        try supervisor.register(
            Registration("page", as: String.self, from: rule) { wish, context in
                guard wish == "Close" else { return }
                told("closed")
                context.page?.close()
                links.close()
            }
        )
        try await supervisor.run()
    }

    private struct Card: Decodable, Sendable { let card: String }
    private struct Line: Decodable, Sendable { let text: String }
    private struct Nothing: Decodable, Sendable {}
}
