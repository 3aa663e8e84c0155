import BrowserBridge
import Foundation
import Logging
import SignalboxCore

/// A page that the engine serves, and somebody else opens in a browser.
struct BrowserSite: EnginePage {
    private let source: String

    init(script path: String) throws {
        source = try String(contentsOfFile: path, encoding: .utf8)
    }

    func engine(logger: Logger) throws -> any Adapter {
        var configuration = BrowserConfiguration(source: "page")
        configuration.documents = [
            "/": .page("<!DOCTYPE html><title>Benchmark</title><script src=\"/page.js\"></script>"),
            "/page.js": .script(source),
        ]
        configuration.messagesWaitingInPage = Self.messagesWaitingInPage
        return try BrowserEngine(configuration, logger: logger)
    }

    func opened(_ engine: any Adapter) async throws {
        guard let url = try await (engine as? BrowserEngine)?.url() else { return }
        print(url)
        fflush(nil)
    }
}
