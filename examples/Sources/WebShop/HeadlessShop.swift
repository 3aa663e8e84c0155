import AppScheme
import Foundation
import JSBridge
import Logging
import SignalboxCore

/// Runs the script of the shop's pages without a page, with the same plugins.
struct HeadlessShop {
    let folder: String
    let logger: Logger

    func run() async throws {
        let scripts = try ["shop.js", "headless.js"].map { name in
            PageScript(name: name, source: try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8))
        }
        var page = JavaScriptCoreConfiguration(source: "headless", scripts: scripts)
        page.title = "Shop without pages"
        let screen = ShopScreen(
            name: page.source,
            rule: .script(source: page.source),
            links: LinkInbox(),
            logger: logger
        )
        try await screen.show(JavaScriptCoreEngine(page, logger: logger)) {}
    }
}
