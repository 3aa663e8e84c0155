#if WebKitGTK
import AppScheme
import Foundation
import JSBridge
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// Runs the shop's three kinds of page in succession, each driven by its script.
struct ShopTour: Sendable {
    let site: URLText
    /// The path for the picture of the first page.
    let picture: String?
    let logger: Logger

    func run() async throws {
        try await show("default", "index.html") { try $0.standard() }
        try await show("product", "product.html") { try $0.product() }
        try await show("payment", "payment.html") { try $0.payment() }
    }

    private func show(_ name: SourceName, _ file: String, _ preset: (ShopPages) throws -> BridgePreset) async throws {
        guard let origin = site.origin else { return }
        let links = LinkInbox()
        let rule = AccessRule.script(origin: origin, source: name)
        let screen = ShopScreen(name: name, rule: rule, links: links, logger: logger)
        let pages = ShopPages(site: site, openLink: { links.open($0) }, told: screen.told)
        let page = try preset(pages).configuration(url: URLText("\(site.text)\(file)"))
        let verdicts = VerdictTeller(screen: screen)
        var view = WebViewConfiguration(source: name, page: page)
        view.display = .offscreen(width: 640, height: 400)
        let engine = try WebKitGTKEngine(view, logger: logger) { _, verdict in
            verdicts.tell(verdict)
        }
        verdicts.page = engine.page
        try await screen.show(engine) {
            guard let picture, name == "default" else { return }
            let file = URL(fileURLWithPath: picture)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try await Data(engine.snapshot()).write(to: file)
        }
    }
}
#endif
