import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(5))) struct TopTests {
    private func lines(_ state: TopState = TopState(), columns: Int = 100, rows: Int = 40) -> [String] {
        let size = TerminalSize(columns: columns, rows: rows)
        return TopView(status: StatusExample.busy, state: state, size: size, isColored: false).lines
    }

    @Test func aFrameShowsEverything() {
        #expect(
            lines() == [
                "signalbox.yaml  running  up 1h 1m  104 MB memory  1234 settled/s",
                "sort: configuration  h: help",
                "! push: cannot reach the broker",
                "~ page/slow: threw: 2 failed in the last 10 s",
                "",
                "SOURCE            KIND     STATE         RATE/S   ERRORS   UNSETTLED  LAST MINUTE",
                "push              mqtt     disconnected  0.0      3        4/1000",
                "page              chat     connected     1234     3        4/1000                                ▁▄█",
                "",
                "PLUGIN            USE      RATE/S  P50     P99     ERRORS   QUEUE   LAST MINUTE",
                "slow              log      2.0     1.3s    2.5s    3        41                                   ███",
                "fast              log      1200    125us   250us   1        1                                    ██",
                "dead              log      0.0     -       -       9        stalled",
                "",
                "DEAD LETTERS 13, in the store 11, 25 %",
                "09:01:02Z  page/slow                   threw: no \\e[31m disk",
            ]
        )
    }

    @Test(arguments: [(20, 5), (40, 12), (80, 24), (200, 60), (1, 1), (132, 9)])
    func aFrameFitsOnTheTerminal(columns: Int, rows: Int) {
        var help = TopState()
        help.handle(.character("h"))
        for state in [TopState(), help] {
            let lines = lines(state, columns: columns, rows: rows)
            #expect(lines.count <= rows && lines.allSatisfy { $0.count <= columns }, "\(lines)")
        }
    }

    @Test(arguments: [
        (TopState.Order.name, ["dead", "fast", "slow"]), (.rate, ["fast", "slow", "dead"]),
        (.p99, ["slow", "fast", "dead"]), (.errors, ["dead", "slow", "fast"]), (.queue, ["slow", "dead", "fast"]),
        (.configuration, ["slow", "fast", "dead"]),
    ])
    func thePluginsAreSorted(order: TopState.Order, expected: [String]) {
        var state = TopState()
        while state.order != order { state.handle(.character("s")) }
        let plugins = StatusExample.busy.plugins
        // Of equals, the first in the configuration comes first: "dead" and "fast" have one of each in the queue, and the stalled
        // call counts.
        #expect(state.sorted(plugins).map(\.plugin) == expected)
        state.handle(.character("r"))
        #expect(state.sorted(plugins).map(\.plugin) == expected.reversed())
    }

    @Test func keysFilterPauseAndEnd() {
        var state = TopState()
        for character in "/Sl" { state.handle(.character(character)) }
        #expect(state.isTyping && state.filter == "Sl")
        state.handle(.character("q"))
        #expect(!state.hasEnded)
        state.handle(.backspace)
        state.handle(.enter)
        #expect(!state.isTyping && state.sorted(StatusExample.busy.plugins).map(\.plugin) == ["slow"])
        state.handle(.escape)
        #expect(state.filter.isEmpty)
        state.handle(.character("p"))
        #expect(state.isPaused)
        state.handle(.character(" "))
        #expect(!state.isPaused)
        for _ in 0...TopState.filterLimit * 2 { state.handle(.character("/")) }
        #expect(state.filter.count == TopState.filterLimit)
        state.handle(.escape)
        state.handle(.character("q"))
        #expect(state.hasEnded)
    }

    @Test func keysAreRead() {
        let keys = TerminalKey.keys(in: Array("a\u{1B}[A\u{1B}[15~\u{1B}OC\r\u{7F}\u{1B}ü\u{1}".utf8))
        #expect(keys == [.character("a"), .up, .right, .enter, .backspace, .escape, .character("ü")])
        #expect(TerminalKey.keys(in: [0xFF, 0x71]).last == .character("q"))
        #expect(TerminalKey.keys(in: Array("\u{1B}[".utf8)).isEmpty)
        #expect(TerminalKey.keys(in: [4]) == [.end])
    }

    @Test func aSparklineHasTheHighestCountAtFullHeight() {
        #expect(Sparkline([0, 1, 50, 100], showsBlocks: true).text(width: 4) == " ▁▄█")
        #expect(Sparkline([0, 1, 50, 100], showsBlocks: false).text(width: 6) == "   .=@")
        #expect(Sparkline([7, 0, 1], showsBlocks: true).text(width: 2) == " █")
        #expect(Sparkline([], showsBlocks: true).text(width: 3) == "   ")
        #expect(Sparkline([5], showsBlocks: true).text(width: 0) == "")
    }

    @Test func framesArePlainTextInAPipe() async throws {
        try await ControlTrial.with { trial in
            try await trial.dispatch(["good", "bad"])
            let top = try await trial.run("top", "--config", "c.yaml", "-C", "2", "--interval", "100ms")
            #expect(top.status == 0)
            #expect(top.output.filter { $0.hasPrefix("SOURCE ") }.count == 2)
            #expect(top.output.contains { $0.hasPrefix("links ") } && top.output.contains { $0.hasPrefix("good ") })
            #expect(!top.output.joined().contains("\u{1B}"))
        }
    }

    private static let hasTmux = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/tmux") }

    @Test(.enabled(if: hasTmux, "tmux is not installed"))
    func theTerminalShowsWhatHappens() async throws {
        try await ControlTrial.with { trial in
            try await trial.dispatch(["good", "good", "bad"])
            try await TmuxScreen.with(trial, command: "top --config c.yaml") { screen in
                _ = try await screen.until { $0.contains { $0.hasPrefix("good ") } }
                try await trial.dispatch(["stuck"])
                let broken = try await screen.until { $0.contains { $0.hasPrefix("stuck ") && $0.contains("stalled") } }
                #expect(broken.contains { $0.hasPrefix("! links/stuck: a call has timed out") })
                #expect(broken.contains { $0.contains("links/stuck") && $0.contains("timeout: ") })
                try await screen.type("/", "g", "o", "o", "Enter")
                let filtered = try await screen.until { $0.contains("sort: configuration  filter: goo  h: help") }
                #expect(!filtered.contains { $0.hasPrefix("bad ") } && filtered.contains { $0.hasPrefix("good ") })
                try await screen.type("p")
                _ = try await screen.until { $0.contains { $0.contains("PAUSED") } }
                try await screen.resize(columns: 50, rows: 12)
                _ = try await screen.until { $0.contains { $0.hasPrefix("SOURCE ") && $0.hasSuffix("…") } }
                try await screen.type("q")
                // The former content of the screen is back.
                _ = try await screen.until { $0.contains("status 0") && !$0.contains { $0.hasPrefix("SOURCE ") } }
            }
        }
    }
}

/// A terminal of tmux.
private struct TmuxScreen {
    private let socket: String
    private let folder: URL

    /// Runs a command in a terminal of its own, which ends after `body`.
    static func with(_ trial: ControlTrial, command: String, _ body: (TmuxScreen) async throws -> Void) async throws {
        let screen = TmuxScreen(trial)
        do {
            try await screen.start(command)
            try await body(screen)
        } catch {
            await screen.end()
            throw error
        }
        await screen.end()
    }

    private init(_ trial: ControlTrial) {
        folder = trial.folder
        socket = folder.appendingPathComponent("t").path
    }

    private func start(_ command: String) async throws {
        // The shell stays, so that the test sees what the program leaves behind.
        let line = "'\(BuiltProgram.path("signalbox"))' \(command); echo status $?; exec sleep 600"
        let arguments = [
            "-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "30", "-c", folder.path, "sh", "-c", line,
        ]
        _ = try await tmux(arguments)
    }

    private func tmux(_ arguments: [String]) async throws -> [String] {
        let file = folder.appendingPathComponent(UUID().uuidString)
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let program = try RunningProgram(
            "tmux",
            ["-u", "-S", socket] + arguments,
            environment: ["LC_ALL": "C.UTF-8", "TERM": "xterm-256color"],
            output: file
        )
        _ = await program.status()
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    func until(_ isExpected: ([String]) -> Bool) async throws -> [String] {
        while true {
            try Task.checkCancellation()
            let lines = try await tmux(["capture-pane", "-p"])
            if isExpected(lines) { return lines }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    func type(_ keys: String...) async throws {
        for key in keys { _ = try await tmux(["send-keys", key]) }
    }

    func resize(columns: Int, rows: Int) async throws {
        _ = try await tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    private func end() async { _ = try? await tmux(["kill-server"]) }
}
