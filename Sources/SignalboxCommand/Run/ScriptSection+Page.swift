import JSBridge
import SignalboxCore

extension ScriptSection {
    /// The page as its engine wants it.
    ///
    /// - Parameters:
    ///   - scripts: what it runs, which need not be ``files``.
    ///   - place: where it runs if the section does not say.
    func page(
        from source: SourceName,
        scripts: [PageScript],
        limits: MessageLimits,
        in place: ScriptPlace = .shared
    ) -> JavaScriptCoreConfiguration {
        var page = JavaScriptCoreConfiguration(source: source, scripts: scripts)
        page.title = title
        page.executionTimeLimit = executionTimeLimit ?? page.executionTimeLimit
        page.heapLimit = heapLimit ?? page.heapLimit
        page.timerLimit = timerLimit ?? page.timerLimit
        page.messagesToPage = messagesToPage ?? page.messagesToPage
        page.messagesWithoutListener = messagesWithoutListener ?? page.messagesWithoutListener
        page.limits = limits
        if (process ?? place) == .own {
            page.process = PageWorker.process
            page.process?.memoryLimit = memoryLimit ?? PageWorker.process.memoryLimit
        }
        return page
    }
}
