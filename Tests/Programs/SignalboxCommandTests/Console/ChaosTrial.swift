#if os(Linux)
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// A running program with a broker, watched in a browser and in `top`.
struct ChaosTrial {
    let folder: URL
    let process: CommandProcess
    let tab: ChromiumTab
    private let console: ConsoleTrial
    private let top: CommandProcess

    /// Where pictures and frames go, or `nil` if none are made.
    private static let pictures = ProcessInfo.processInfo.environment["SIGNALBOX_PICTURES"].map {
        URL(fileURLWithPath: $0)
    }

    private static func configuration(_ broker: Broker, store: URL) -> String {
        """
        observe: { port: 0, token: { file: token }, console: full }
        control: c.control
        store: { path: '\(store.path)', dead_letters: { count: 1000 } }
        sources:
          push:
            mqtt: { broker: '\(broker.url)', client_id: shop, topics: ['shop/{action}'] }
            window: { arrivals: 10 }
          links:
            links: { standard_input: true, routes: [{ pattern: 'app://{action}' }] }
            rate_limit: { per_second: 100 }
        plugins:
          - action: order
            use: exec
            command: [sh, -c, 'while [ -e hang ]; do sleep 0.05; done']
            output: none
            timeout: 1s
            max_concurrent: 1
            from: push
          - { action: good, use: log, from: links }
          - { action: bad, use: fail, from: links }
        """
    }

    /// Runs `body` while the program runs. Without a browser, `body` is not called.
    ///
    /// - Parameter store: The folder for the store.
    static func with(_ broker: Broker, store: URL, _ body: (ChaosTrial) async throws -> Void) async throws {
        let configuration = configuration(broker, store: store.appendingPathComponent("messages.db"))
        try await ConsoleTrial.with(configuration) { console in
            let (folder, process) = (console.observed.folder, console.observed.process)
            let top = try CommandProcess(["top", "--config", "c.yaml", "--interval", "250ms"], folder: folder)
            _ = try #require(await top.output.line(with: "push", "mqtt", "connected"))
            try await body(
                ChaosTrial(folder: folder, process: process, tab: console.tab, console: console, top: top)
            )
        }
    }

    /// Causes a fault, waits until the console and `top` name it on one line with these words, and prints how long that took.
    func watch(_ name: String, for words: [String], fault: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await fault()
        async let inTop = untilTop(words, since: start)
        try await untilConsole(words)
        let inConsole = ContinuousClock.now - start
        let (frame, time) = try await inTop
        print(
            "chaos: \(name): named in the console after \(seconds(inConsole)), in top after \(seconds(time)): \(frame)"
        )
        guard let pictures = ChaosTrial.pictures else { return }
        try await tab.picture(width: 1_000, height: 560).write(to: pictures.appendingPathComponent("chaos-\(name).png"))
        let top = try await CommandProcess.run(["top", "--config", "c.yaml", "--count", "1"], folder: folder)
        let text = top.output.joined(separator: "\n") + "\n"
        try Data(text.utf8).write(to: pictures.appendingPathComponent("chaos-\(name).txt"))
    }

    /// Waits until a line of the console's problems has all of these words.
    func untilConsole(_ words: [String]) async throws {
        let list = "[...document.querySelectorAll('#problem-list li')].map(n => n.textContent)"
        let terms = "[\(words.map(console.quoted).joined(separator: ","))]"
        try await console.until("\(list).some(text => \(terms).every(word => text.includes(word)))")
    }

    /// Waits until the console no longer shows this problem.
    func untilGone(_ text: String) async throws {
        let list = "document.getElementById('problem-list')"
        try await console.until("!\(list).textContent.includes(\(console.quoted(text)))")
    }

    private func untilTop(_ words: [String], since start: ContinuousClock.Instant) async throws -> (String, Duration) {
        while true {
            let line = try #require(await top.output.line(with: words[0]))
            if words.allSatisfy(line.contains) { return (line, ContinuousClock.now - start) }
        }
    }

    private func seconds(_ duration: Duration) -> String {
        "\((duration / .milliseconds(100)).rounded() / 10) s"
    }
}
#endif
