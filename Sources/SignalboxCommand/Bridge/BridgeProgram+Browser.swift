import BrowserBridge
import Logging

extension BridgeProgram {
    /// A page in the browser of whoever opens the address.
    static func browser(_ parts: Parts) async throws -> CommandStatus {
        let site = try SiteFiles.read(parts.request.pages[0])
        var browser = BrowserConfiguration(source: parts.source.name, documents: site.documents)
        browser.allowsInlineCode = true
        browser.origins = parts.request.origins
        browser.limits = parts.configuration.limits
        browser.messagesToPage = parts.source.script.messagesToPage ?? browser.messagesToPage
        browser.messagesWithoutListener =
            parts.source.script.messagesWithoutListener ?? browser.messagesWithoutListener
        let engine = try BrowserEngine(browser, logger: parts.logger.withoutSecrets)
        let run = parts.run(engine)
        // To stderr itself and not to a log: the address lets whoever has it in.
        let address = Task {
            if let url = try? await engine.url() { DiagnosticOutput.shared.tell("open \(url)") }
        }
        defer { address.cancel() }
        return try await run.status { judge($0, parts, isOpenEnded: true, scriptErrors: 0) }
    }
}
