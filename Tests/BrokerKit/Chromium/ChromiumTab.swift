import SignalboxTesting

/// A tab of a headless Chromium.
public final class ChromiumTab: Sendable {
    private struct State: Sendable {
        /// What the browser calls the documents of the main frame that have loaded.
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
        // A target is called as its main frame.
        pipe.hear(session) { [state] in ChromiumTab.heard($0, $1, state, frame: target) }
    }

    private static func heard(
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

    /// Loads a page and waits for its `load` event; for another fragment of the same document only until that is there.
    ///
    /// - Throws: ``BrokerKitError`` when the browser cannot load it.
    public func load(_ url: String) async throws {
        let answer = try await call("Page.navigate", ["url": .text(url)])
        if let fault = answer["errorText"].text { throw BrokerKitError("\(url) cannot be loaded: \(fault)") }
        if let loader = answer["loaderId"].text { try await untilLoaded { $0.contains(loader) } }
    }

    /// Loads the page again and waits for its `load` event.
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

    /// Evaluates an expression in the page's main frame, waits for it when it is a promise, and gives it as JSON;
    /// `undefined` for what has no JSON form.
    ///
    /// - Throws: ``BrokerKitError`` with what was thrown.
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

    /// What the page, and its frames of the same site, wrote to the console so far, with uncaught errors and the browser's
    /// own complaints, such as about a policy.
    public var console: [String] { state.value.console }

    /// Waits for a line of the console with the text, `count` times, and gives the last of them.
    @discardableResult
    public func console(containing text: String, times count: Int = 1) async throws -> String {
        let isThere = await state.until { $0.console.count { $0.contains(text) } >= count }
        guard isThere else { throw CancellationError() }
        return state.value.console.filter { $0.contains(text) }[count - 1]
    }

    /// Calls a method of the debugging protocol that has no answer of interest, such as `Network.enable`.
    ///
    /// - Parameter parameters: whose values are texts or truth values.
    public func command(_ method: String, texts: [String: String] = [:], flags: [String: Bool] = [:]) async throws {
        let parameters = texts.mapValues { ChromiumValue.text($0) }.merging(flags.mapValues { .bool($0) }) { $1 }
        try await call(method, .object(parameters))
    }

    @discardableResult
    private func call(_ method: String, _ parameters: ChromiumValue = [:]) async throws -> ChromiumValue {
        try await pipe.call(method, parameters, in: session)
    }
}
