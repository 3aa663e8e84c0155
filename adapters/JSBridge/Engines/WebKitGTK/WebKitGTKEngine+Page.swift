#if WebKitGTK
import SignalboxCore
public import SignalboxRoutes

extension WebKitGTKEngine {
    /// Loads the page that is shown, or was last, from its server, by a new request; nothing happens while none runs. About
    /// its URL is asked as about every other. Returns at once.
    public func reload() {
        guard let page = running else { return }
        GLibThread.post { page.reload() }
    }

    /// Loads another page in place of the one that is shown, if the chain allows it; nothing happens while none runs.
    /// Returns at once.
    public func load(_ url: URLText) {
        guard let page = running else { return }
        GLibThread.post { page.load(url.text) }
    }

    /// A picture of what the page shows now.
    ///
    /// - Returns: a PNG (ISO/IEC 15948) of the display's size.
    /// - Throws: ``JSBridgeError`` `notRunning`; `snapshotFailed` when the library gave none, or the run ended first.
    public func snapshot() async throws(JSBridgeError) -> [UInt8] {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "a picture is taken of a page that runs", source: source)
        }
        guard let picture = await page.takeSnapshot() else {
            throw JSBridgeError(.snapshotFailed, "the library gave no picture, or the page has gone", source: source)
        }
        return picture
    }

    /// Evaluates a script in the page's own world: for tests and examples that drive a page.
    ///
    /// - Returns: its value as text.
    /// - Throws: what it threw, in words; an error when no page runs.
    package func evaluate(_ script: String) async throws -> String {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "a script is evaluated in a page that runs", source: source)
        }
        return try await page.evaluate(script).get()
    }
}

extension WebKitPage {
    fileprivate func takeSnapshot() async -> [UInt8]? {
        await wait(ended: nil) { view, end in view.takeSnapshot(end) }
    }

    fileprivate func evaluate(_ script: String) async -> Result<String, ScriptFault> {
        await wait(ended: .failure(ScriptFault(description: "the page has gone"))) { view, end in
            view.evaluate(script, world: nil, end)
        }
    }
}
#endif
