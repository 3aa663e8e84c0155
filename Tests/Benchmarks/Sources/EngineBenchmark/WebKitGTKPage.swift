#if WebKitGTK
import JSBridge
import Logging
import SignalboxCore
import SignalboxRoutes

/// A page from another server, without a sandbox, like that of the bare view.
struct WebKitGTKPage: EnginePage {
    private let url: URLText

    init(url: String) throws {
        self.url = try URLText(url)
    }

    func engine(logger: Logger) throws -> any Adapter {
        let preset = BridgePreset.default.deriving("benchmark") { $0.add(handler: BridgeHandler("payment")) }
        var configuration = WebViewConfiguration(source: "page", page: try preset.configuration(url: url))
        configuration.messagesWaitingInPage = Self.messagesWaitingInPage
        return try WebKitGTKEngine(configuration, sandbox: .off, logger: logger)
    }
}
#endif
