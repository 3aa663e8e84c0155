import JSBridge
import SignalboxCore

extension ScriptSection {
    /// The page as its engine wants it.
    ///
    /// - Parameter scripts: what it runs, which need not be ``files``.
    func page(from source: SourceName, scripts: [PageScript], limits: MessageLimits) -> JavaScriptCoreConfiguration {
        var page = JavaScriptCoreConfiguration(source: source, scripts: scripts)
        page.title = title
        page.executionTimeLimit = executionTimeLimit ?? page.executionTimeLimit
        page.heapLimit = heapLimit ?? page.heapLimit
        page.timerLimit = timerLimit ?? page.timerLimit
        page.messagesToPage = messagesToPage ?? page.messagesToPage
        page.messagesWithoutListener = messagesWithoutListener ?? page.messagesWithoutListener
        page.limits = limits
        return page
    }
}
