#if WebKitGTK
import AdapterThreads
import Logging
import SignalboxRoutes

extension WebKitPage: WebKitViewListener {
    func committed(_ url: String) {
        view?.openRawHandlers()
        // The empty document is what the library shows when it has nothing to show.
        if url != "about:blank" { current = url }
        hasProcess = true
        liveness.reacted()
        reloadPlan.lives(at: .now)
        run?.committed()
    }

    func loadFailed(_ url: String, _ message: String, isRefusal: Bool) {
        // Whoever refused it has said so.
        guard !isRefusal else { return }
        let line = LineText.escaped(message)
        parts.log.say(.warning, "load", "a page cannot be loaded: \(line)")
        if current == nil { loadAgain("the first page cannot be loaded: \(line)") }
    }

    func received(_ text: String) {
        liveness.reacted()
        run?.received(text)
    }

    func receivedRaw(_ post: RawPost, _ reply: RawReply) {
        guard let run else { return }
        if !rawBudget.take(post.json?.utf8.count ?? 0, in: post.time, at: .now) {
            // Not within the signal of one of them.
            GLibThread.post { self.view?.closeRawHandlers() }
            let text = "a frame, or a page of another origin, posts too much to handlers; they are closed to it"
            parts.log.say(.warning, "flood", text)
        }
        run.receivedRaw(post.handler, post.json) { answer in GLibThread.post { reply.settle(answer) } }
    }

    func asked(_ question: PolicyQuestion) {
        ask(question)
    }

    func titleChanged(_ title: String?) {
        run?.titleChanged(title)
        showTitle()
    }

    func processEnded(_ reason: String) {
        hasProcess = false
        processesEnded += 1
        liveness.reacted()
        run?.processEnded()
        parts.log.say(.warning, "process", "the page's process has ended: \(reason)")
        loadAgain("the page's process ended: \(reason)")
    }

    func dialogOpened() {
        liveness.waitForUser()
    }

    func windowClosed() {
        parts.handle.close()
    }

    func refused(_ wish: String) {
        parts.log.say(.info, wish, "the page wanted \(wish), which pages are not given")
    }

    /// The window is called what the page is.
    func showTitle() {
        view?.entitle(parts.handle.title ?? "")
    }

    private func loadAgain(_ reason: String) {
        guard run != nil, reloadTimer == nil else { return }
        guard let wait = reloadPlan.ended(at: .now, share: .random(in: 0...1)) else {
            let times = parts.configuration.reloads
            let detail = "\(reason), and was begun again \(times) times in a row; raise `reloads` or mend the page"
            run?.fail(JSBridgeError(.pageFailed, detail, source: parts.configuration.source))
            return
        }
        reloadTimer = GLibTimer(after: wait) { [weak self] in self?.reload() }
    }

    /// Loads the page that is there, or was last, from its server.
    func reload() {
        load(current ?? parts.configuration.page.url.text)
    }

    /// Loads a page, also in place of one that was to be loaded again.
    func load(_ url: String) {
        reloadTimer?.stop()
        reloadTimer = nil
        hasProcess = true
        liveness.reacted()
        view?.load(url)
    }

    /// Asks the process for a sign of life, and ends it when none came for too long.
    func lookWhetherItReacts() {
        guard hasProcess, let view else { return }
        switch liveness.look(at: .now) {
        case .wait: break
        case .ask: view.evaluate("0", world: WebViewScripts.world) { [weak self] _ in self?.liveness.reacted() }
        case .end:
            let limit = parts.configuration.unresponsiveLimit
            parts.log.say(.warning, "unresponsive", "the page did not react for \(limit); its process is ended")
            view.endProcess()
        }
    }
}
#endif
