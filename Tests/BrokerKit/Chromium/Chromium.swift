import Foundation

/// A headless Chromium of a test: a process group and a profile of its own, which end with the test.
///
/// It is spoken to over its debugging pipe, so no port is open. Debian's package is `chromium-headless-shell`.
public final class Chromium: Sendable {
    /// Set where the tests must not pass without a browser, as in continuous integration.
    public static let needed = "SIGNALBOX_NEEDS_CHROMIUM"
    private static let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]

    private let process: ChromiumProcess
    let pipe: ChromiumPipe

    /// Runs `body` with a browser, which is ended with it. Where none is installed it prints so and runs nothing.
    ///
    /// - Throws: what `body` throws; ``BrokerKitError`` when there is no browser although ``needed`` is set, or when it
    ///   does not start.
    public static func with(_ body: (Chromium) async throws -> Void) async throws {
        guard let path else {
            guard ProcessInfo.processInfo.environment[needed] == nil else {
                throw BrokerKitError("\(needed) is set and there is no Chromium: install chromium-headless-shell")
            }
            print("skipped: there is no Chromium; install chromium-headless-shell")
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
            // Pages that nobody looks at are not slowed down.
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows",
        ]
        // It refuses to run as root otherwise; the pages are the test's own.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        process = try ChromiumProcess(path, arguments)
        pipe = ChromiumPipe(process)
    }

    private func close() async {
        process.endLater()
        // Also when the test was cancelled. It answers, or it is gone.
        await Task { [pipe] in _ = try? await pipe.call("Browser.close") }.value
        await process.ended()
    }

    /// Opens an empty tab.
    ///
    /// - Parameter isPrivate: whether it shares nothing with the other tabs, such as storage.
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

    /// Opens a tab and loads a page in it; see ``ChromiumTab/load(_:)``.
    public func open(_ url: String) async throws -> ChromiumTab {
        let tab = try await openTab()
        try await tab.load(url)
        return tab
    }
}
