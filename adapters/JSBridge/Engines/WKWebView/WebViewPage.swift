#if canImport(WebKit)
import AdapterSupport
import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import WebKit

#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

/// Drives the view during a run. It performs the run's commands, and reports the view's events to the run.
@MainActor final class WebViewPage: NSObject {
    private let view: WKWebView
    private let run: WebViewRun
    let commands: PageCommands
    var host: WebViewHost { run.host }
    private let world = WKContentWorld.world(name: WebViewScripts.world)
    private var reloadPolicy: CrashReloadPolicy
    /// The most recently committed page, which is the requesting page for later navigations.
    private(set) var url: URLText?
    /// The URL that was most recently loaded in place of a text that was not in normal form.
    private var replacement: URLText?
    /// Whether a reload of the page is scheduled.
    private var isRecovering = false
    /// Whether the run accepts events.
    private(set) var isOpen = true

    init(_ view: WKWebView, _ run: WebViewRun, _ commands: PageCommands) {
        self.view = view
        self.run = run
        self.commands = commands
        reloadPolicy = CrashReloadPolicy(run.host.configuration)
        super.init()
    }

    /// Loads the first page and performs commands until `end`.
    func serve() async {
        begin()
        await withDiscardingTaskGroup { group in
            while true {
                switch await commands.next() {
                case .evaluate: evaluateScripts()
                case .load(let url): load(url.text)
                case .reload: reload()
                case .recover(let wait): group.addTask { await self.recover(after: wait) }
                case .open(let popup): group.addTask { await self.open(popup) }
                case .end:
                    end()
                    group.cancelAll()
                    return
                }
            }
        }
        run.surfaceEnded()
    }

    private func begin() {
        let page = WebViewScripts(host.configuration)
        let controller = view.configuration.userContentController
        // The engine needs exclusive use of the view while it runs, because someone else's scripts or handlers could
        // reach the page.
        controller.removeAllUserScripts()
        controller.removeAllScriptMessageHandlers()
        add(page, to: controller)
        let relay = ScriptReceiver { [weak self] message in self?.received(message) }
        controller.add(relay, contentWorld: world, name: WebViewScripts.handler)
        let raw = RawReceiver(run)
        for name in page.rawHandlers { controller.addScriptMessageHandler(raw, contentWorld: .page, name: name) }
        let titles = WKContentWorld.world(name: TitleScript.world)
        let titleChange = ScriptReceiver { [weak self] _ in self?.titleChanged() }
        controller.add(titleChange, contentWorld: titles, name: TitleScript.handler)
        controller.addUserScript(script(TitleScript.text, .atDocumentEnd, in: titles))
        view.navigationDelegate = self
        view.uiDelegate = self
        load(host.configuration.page.url.text)
    }

    private func add(_ scripts: WebViewScripts, to controller: WKUserContentController) {
        // The relay comes first, because it receives the messages from the page's script.
        controller.addUserScript(script(scripts.relay, .atDocumentStart, in: world))
        controller.addUserScript(script(scripts.page, .atDocumentStart, in: .page))
        if let zoom = scripts.zoom { controller.addUserScript(script(zoom, .atDocumentEnd, in: world)) }
    }

    private func script(
        _ text: String,
        _ time: WKUserScriptInjectionTime,
        in world: WKContentWorld
    ) -> WKUserScript {
        WKUserScript(source: text, injectionTime: time, forMainFrameOnly: true, in: world)
    }

    private func end() {
        isOpen = false
        view.stopLoading()
        view.navigationDelegate = nil
        view.uiDelegate = nil
        view.configuration.userContentController.removeAllUserScripts()
        view.configuration.userContentController.removeAllScriptMessageHandlers()
        view.loadHTMLString("", baseURL: nil)
    }

    // MARK: - Scripts

    private func evaluateScripts() {
        while isOpen, let script = run.nextScript() {
            view.evaluateJavaScript(script, in: nil, in: world) { [weak self] _ in self?.scriptEnded() }
        }
    }

    private func scriptEnded() {
        guard isOpen else { return }
        run.scriptDone()
        evaluateScripts()
    }

    /// Receives a text from the private world. The text is accepted only if it comes from the main frame and claims the
    /// origin that WebKit reports.
    private func received(_ message: WKScriptMessage) {
        guard isOpen, let text = message.body as? String else { return }
        let (claim, origin) = (ClaimedOrigin(in: text), message.frameInfo.securityOrigin)
        guard message.frameInfo.isMainFrame,
            claim.matches(scheme: origin.protocol, host: origin.host, port: origin.port)
        else {
            host.counters.add(to: \.malformedTexts)
            host.log.writeLimited(
                .warning,
                "claimed origin",
                "a message was dropped: its frame does not have the origin that it claims"
            )
            return
        }
        run.received(text)
    }

    // MARK: - Loading

    func load(_ text: String) {
        guard isOpen else { return }
        guard let url = URL(string: text) else {
            host.log.writeLimited(.warning, "load", "a URL cannot be loaded: the system rejects it")
            return
        }
        view.load(URLRequest(url: url))
    }

    /// Loads the normal form of an allowed URL instead of the engine's text.
    ///
    /// This happens only once per URL. If the engine changes the normal form again, nothing is loaded.
    func load(normalForm url: URLText) {
        guard replacement != url else { return }
        replacement = url
        load(url.text)
    }

    /// Reloads the page with a new request, so that form data is not submitted again.
    private func reload() {
        load((url ?? host.configuration.page.url).text)
    }

    private func recover(after wait: Duration) async {
        guard (try? await Task.sleep(for: wait)) != nil else { return }
        isRecovering = false
        reload()
    }

    private func scheduleReload(_ reason: String) {
        guard !isRecovering else { return }
        guard let wait = reloadPolicy.failed(at: .now, jitter: .random(in: 0...1)) else {
            return run.fail(reloadPolicy.error(reason))
        }
        isRecovering = true
        commands.load(.recover(after: wait))
    }

    // MARK: - View events

    func committed() {
        guard isOpen else { return }
        url = view.url.flatMap { try? URLText($0.absoluteString, paths: .lenient) }
        replacement = nil
        reloadPolicy.loadCommitted(at: .now)
        run.committed()
        titleChanged()
    }

    func titleChanged() {
        guard isOpen else { return }
        run.titleChanged(view.title)
    }

    func processEnded() {
        guard isOpen else { return }
        run.processEnded()
        host.log.writeLimited(.warning, "process", "the page's process has ended")
        scheduleReload("the page's process ended")
    }

    func failed(_ error: any Error) {
        let error = error as NSError
        // A load that was stopped or refused is not a failure of the page.
        let isStopped = error.domain == NSURLErrorDomain && error.code == NSURLErrorCancelled
        let isRefused = error.domain == "WebKitErrorDomain" && error.code == 102
        guard isOpen, !isStopped, !isRefused else { return }
        let reason = "error \(error.code) of \(PageLogText.escaped(error.domain))"
        host.log.writeLimited(.warning, "load", "a page cannot be loaded: \(reason)")
        if url == nil { scheduleReload("the first page cannot be loaded: \(reason)") }
    }
}

extension WebViewPage {
    /// Returns a PNG image of the view, or `nil` if WebKit returns no image.
    func takeSnapshot() async -> [UInt8]? {
        await withCheckedContinuation { waiting in
            view.takeSnapshot(with: nil) { image, _ in
                waiting.resume(returning: image.flatMap(WebViewPage.png).map { [UInt8]($0) })
            }
        }
    }

    #if canImport(UIKit)
    private nonisolated static func png(_ image: UIImage) -> Data? {
        image.pngData()
    }
    #elseif canImport(AppKit)
    private nonisolated static func png(_ image: NSImage) -> Data? {
        image.tiffRepresentation.flatMap { NSBitmapImageRep(data: $0) }?.representation(using: .png, properties: [:])
    }
    #endif

    /// Evaluates a script in the page's own world, and returns its value as text.
    func evaluate(_ script: String) async throws -> String {
        let result = await withCheckedContinuation { waiting in
            view.evaluateJavaScript(script, in: nil, in: .page) { result in
                waiting.resume(returning: result.map { "\($0)" })
            }
        }
        return try result.get()
    }
}
#endif
