public import Foundation
import SignalboxTesting

/// A test's headless Chromium, with a separate process group and profile that end with the test.
///
/// The test controls it over a debugging pipe, so no port is open. Debian's package is `chromium-headless-shell`.
public final class Chromium: Sendable {
    /// The variable that makes a missing browser an error, for continuous integration.
    public static let needed = "SIGNALBOX_NEEDS_CHROMIUM"
    private static let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]

    private let process: ChromiumProcess
    let pipe: ChromiumPipe

    /// Runs `body` with a browser, then closes the browser. If no browser is installed, prints a note and skips `body`.
    ///
    /// - Throws: Any error of `body`; ``BrokerKitError`` if ``needed`` is set without a browser, or if the browser does
    ///   not start.
    public static func with(_ body: (Chromium) async throws -> Void) async throws {
        guard let path else {
            guard ProcessInfo.processInfo.environment[needed] == nil else {
                throw BrokerKitError("\(needed) is set, but Chromium is missing: install chromium-headless-shell")
            }
            print("skipped: Chromium is missing; install chromium-headless-shell")
            return
        }
        let browser = try Chromium(path)
        do {
            try await body(browser)
            await browser.close()
        } catch {
            await browser.close()
            throw error
        }
    }

    private static var path: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let candidates = names.flatMap { name in folders.map { "\($0)/\(name)" } }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private init(_ path: String) throws {
        var arguments = [
            "--remote-debugging-pipe", "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
            "--disable-breakpad", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-default-apps", "--disable-extensions", "--mute-audio", "--no-proxy-server",
            // Do not slow down background pages.
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows",
        ]
        // As root, Chromium requires this; only the test's own pages run in it.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        process = try ChromiumProcess(path, arguments)
        pipe = ChromiumPipe(process)
    }

    private func close() async {
        process.endLater()
        // A new task, because the test may be cancelled. The browser answers, or the pipe closes.
        await Task { [pipe] in _ = try? await pipe.call("Browser.close") }.value
        await process.ended()
    }

    /// Opens an empty tab.
    ///
    /// - Parameter isPrivate: Whether the tab is isolated from the other tabs, for example in its storage.
    public func openTab(isPrivate: Bool = false) async throws -> ChromiumTab {
        var target: [String: ChromiumValue] = ["url": "about:blank"]
        if isPrivate {
            target["browserContextId"] = try await pipe.call("Target.createBrowserContext")["browserContextId"]
        }
        let made = try await pipe.call("Target.createTarget", .object(target))["targetId"]
        let attached = try await pipe.call("Target.attachToTarget", ["targetId": made, "flatten": true])
        guard let session = attached["sessionId"].text else { throw BrokerKitError("the browser opened no tab") }
        let tab = ChromiumTab(pipe, session: session, target: made)
        for domain in ["Page", "Runtime", "Log"] { try await pipe.call("\(domain).enable", in: session) }
        try await pipe.call("Page.setLifecycleEventsEnabled", ["enabled": true], in: session)
        return tab
    }

    /// Opens a tab and loads a page; see ``ChromiumTab/load(_:)``.
    public func open(_ url: String) async throws -> ChromiumTab {
        let tab = try await openTab()
        try await tab.load(url)
        return tab
    }
}

/// A tab of a headless Chromium.
public final class ChromiumTab: Sendable {
    private struct State: Sendable {
        /// The browser's ids of the main frame's documents that have loaded.
        var loaded: Set<String> = []
        var console: [String] = []
        var hasCrashed = false
    }

    private let pipe: ChromiumPipe
    private let session: String
    private let target: ChromiumValue
    private let state = Watched(State())

    init(_ pipe: ChromiumPipe, session: String, target: ChromiumValue) {
        self.pipe = pipe
        self.session = session
        self.target = target
        // A target has the id of its main frame.
        pipe.subscribe(session) { [state] in ChromiumTab.received($0, $1, state, frame: target) }
    }

    private static func received(
        _ method: String,
        _ parameters: ChromiumValue,
        _ state: Watched<State>,
        frame: ChromiumValue
    ) {
        switch method {
        case "Page.lifecycleEvent":
            guard parameters["name"] == "load", parameters["frameId"] == frame, let loader = parameters["loaderId"].text
            else { return }
            state.change { _ = $0.loaded.insert(loader) }
        case "Inspector.targetCrashed": state.change { $0.hasCrashed = true }
        case "Runtime.consoleAPICalled":
            let values = parameters["args"].list.map { value in
                value["value"] == .null ? value["description"].text ?? value["type"].shown : value["value"].shown
            }
            state.change { $0.console.append(values.joined(separator: " ")) }
        case "Runtime.exceptionThrown":
            let details = parameters["exceptionDetails"]
            let text = details["exception"]["description"].text ?? details["text"].shown
            state.change { $0.console.append("uncaught: \(text)") }
        case "Log.entryAdded":
            let entry = parameters["entry"]
            state.change { $0.console.append("\(entry["level"].shown): \(entry["text"].shown)") }
        default: break
        }
    }

    // MARK: - Pages

    /// Loads a page and waits for its `load` event. Returns after navigation if only the fragment differs.
    ///
    /// - Throws: ``BrokerKitError`` if the browser cannot load the page.
    public func load(_ url: String) async throws {
        let answer = try await call("Page.navigate", ["url": .text(url)])
        if let fault = answer["errorText"].text { throw BrokerKitError("\(url) cannot be loaded: \(fault)") }
        if let loader = answer["loaderId"].text { try await untilLoaded { $0.contains(loader) } }
    }

    /// Reloads the page and waits for its `load` event.
    public func reload() async throws {
        let before = state.value.loaded
        try await call("Page.reload")
        try await untilLoaded { !$0.isSubset(of: before) }
    }

    private func untilLoaded(_ isLoaded: @escaping @Sendable (Set<String>) -> Bool) async throws {
        guard await state.until({ isLoaded($0.loaded) || $0.hasCrashed }) else { throw CancellationError() }
        if state.value.hasCrashed { throw BrokerKitError("the page's process has crashed") }
    }

    /// Closes the tab.
    public func close() async throws {
        pipe.forget(session)
        try await pipe.call("Target.closeTarget", ["targetId": target])
    }

    // MARK: - Scripts

    /// Evaluates an expression in the page's main frame, awaits its promise if it is one, and returns the value as
    /// JSON; `undefined` if it has no JSON form.
    ///
    /// - Throws: ``BrokerKitError`` with the exception.
    @discardableResult
    public func evaluate(_ expression: String) async throws -> String {
        let wrapped = "(async () => JSON.stringify(await (\(expression))))()"
        let answer = try await call(
            "Runtime.evaluate",
            ["expression": .text(wrapped), "awaitPromise": true, "returnByValue": true, "userGesture": true]
        )
        if case .object(let details) = answer["exceptionDetails"] {
            let thrown = details["exception"]?["description"].text ?? details["text"]?.shown ?? "something"
            throw BrokerKitError("the page threw \(thrown)")
        }
        return answer["result"]["value"].text ?? "undefined"
    }

    /// The console output of the page and its frames of the same site, including uncaught errors and messages of the
    /// browser, such as policy violations.
    public var console: [String] { state.value.console }

    /// Waits for `count` console lines that contain the text, and returns the last.
    @discardableResult
    public func console(containing text: String, times count: Int = 1) async throws -> String {
        let isThere = await state.until { $0.console.count { $0.contains(text) } >= count }
        guard isThere else { throw CancellationError() }
        return state.value.console.filter { $0.contains(text) }[count - 1]
    }

    /// Calls a method of the debugging protocol and ignores its result, such as `Network.enable`.
    public func command(_ method: String, texts: [String: String] = [:], flags: [String: Bool] = [:]) async throws {
        let parameters = texts.mapValues { ChromiumValue.text($0) }.merging(flags.mapValues { .bool($0) }) { $1 }
        try await call(method, .object(parameters))
    }

    /// Makes the page see a user who prefers dark or light colours.
    public func prefersDark(_ isDark: Bool) async throws {
        let scheme: ChromiumValue = ["name": "prefers-color-scheme", "value": .text(isDark ? "dark" : "light")]
        try await call("Emulation.setEmulatedMedia", ["features": .list([scheme])])
    }

    /// Returns a picture of the top of the page, as a PNG file.
    public func picture(width: Int, height: Int) async throws -> Data {
        let size: ChromiumValue = [
            "width": .number(Double(width)), "height": .number(Double(height)), "deviceScaleFactor": .number(1),
            "mobile": false,
        ]
        try await call("Emulation.setDeviceMetricsOverride", size)
        let answer = try await call("Page.captureScreenshot", ["format": "png"])
        guard let data = answer["data"].text.flatMap({ Data(base64Encoded: $0) }) else {
            throw BrokerKitError("the browser took no picture")
        }
        return data
    }

    @discardableResult
    private func call(_ method: String, _ parameters: ChromiumValue = [:]) async throws -> ChromiumValue {
        try await pipe.call(method, parameters, in: session)
    }
}
