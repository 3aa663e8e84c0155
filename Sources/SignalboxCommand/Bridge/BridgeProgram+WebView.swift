import JSBridge
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes

extension BridgeProgram {
    #if WebKitGTK
    /// A page in a window of this program.
    static func webView(_ parts: Parts) async throws -> CommandStatus {
        let page = parts.request.pages[0]
        if page.hasPrefix("http://") || page.hasPrefix("https://") {
            return try await webView(parts, showing: page)
        }
        let site = try SiteFiles.read(page)
        return try await SiteServer.serving(site.documents, parts.logger) { port in
            try await webView(parts, showing: "http://127.0.0.1:\(port)/")
        }
    }

    private static func webView(_ parts: Parts, showing text: String) async throws -> CommandStatus {
        var view = WebViewConfiguration(source: parts.source.name, page: try bridge(parts, showing: text))
        view.display = .window(width: 1_024, height: 768)
        view.limits = parts.configuration.limits
        view.bytesInFlight = max(view.bytesInFlight, view.limits.bytes)
        view.messagesToPage = parts.source.script.messagesToPage ?? view.messagesToPage
        view.messagesWithoutListener = parts.source.script.messagesWithoutListener ?? view.messagesWithoutListener
        let output = parts.output
        let engine = try WebKitGTKEngine(view, logger: parts.logger.withoutSecrets) { request, verdict in
            output.offer(NavigationLine(request, verdict).line(isTerminal: output.isTerminal))
        }
        return try await parts.run(engine).status {
            judge($0, parts, isOpenEnded: true, scriptErrors: engine.scriptErrors)
        }
    }

    private static func bridge(_ parts: Parts, showing text: String) throws -> BridgeConfiguration {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text)
        } catch {
            throw CommandRefusal(.usage, "the page is no URL that can be shown: \(error)")
        }
        var configurator = BridgeConfigurator()
        if let own = url.origin { configurator.set(origins: [own] + parts.request.origins) }
        configurator.set(title: parts.source.script.title)
        // What the page may post to by name is what it may call.
        for plugin in parts.configuration.plugins.prefix(BridgeConfigurator.maximumHandlers) {
            configurator.add(handler: BridgeHandler(plugin.action))
        }
        if let navigation = parts.configuration.navigation, let file = parts.request.config {
            configurator.set(navigation: try NavigateProgram.rehearsal(of: navigation, file: file))
        }
        return try configurator.build(url: url)
    }
    #else
    static func webView(_ parts: Parts) async throws -> CommandStatus {
        throw CommandRefusal(
            .unavailable,
            "this signalbox was built without web views; build it with: swift build --traits WebKitGTK (it needs "
                + "libwebkit2gtk-4.1-dev), or use --engine browser"
        )
    }
    #endif
}
