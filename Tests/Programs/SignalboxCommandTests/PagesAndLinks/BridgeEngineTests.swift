import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `signalbox bridge` with documents: in a web view, and in any browser that opens an address.
@Suite(.timeLimit(.minutes(10))) struct BridgeEngineTests {
    /// A page that calls twice and tries to leave in between.
    private static let page = """
        <!doctype html><title>Trial</title>
        <script>
        signalbox.call('pay', { amount: 5 }).then(reply => {
          location.href = 'https://elsewhere.example/';
          return signalbox.call('show', reply);
        });
        </script>
        """
    private static let configuration = """
        sources: { page: { script: {} } }
        plugins:
          - { action: pay, use: reply, value: { receipt: r-1 }, from: [ { source: page } ] }
          - { action: show, use: log, from: [ { source: page } ] }
        """
    private static let messages = [
        #"{"source":"page","action":"pay","body":{"amount":5},"outcome":"handled","reply":{"receipt":"r-1"}}"#,
        #"{"source":"page","action":"show","body":{"receipt":"r-1"},"outcome":"handled"}"#,
    ]

    private static func with(_ body: (PageTrial) async throws -> Void) async throws {
        try await PageTrial.with(configuration) { trial in
            try trial.write(page, to: "page.html")
            try await body(trial)
        }
    }

    @Test(arguments: [
        (["page.html", "other.html", "--engine", "browser"], "takes exactly one page"),
        (["page.html", "--engine", "browser", "--expect", "a"], "--expect requires --engine jsc"),
        (["page.html", "--engine", "browser", "--allow-origin", "null"], "--allow-origin: "),
        (["page.js", "--allow-origin", "https://a.example"], "scripts of --engine jsc have no origin"),
        (["page.html", "--engine", "netscape"], "netscape"),
        (["page.js", "--count", "0"], "--count must be at least 1"),
    ])
    func conflictingOptionsAreRefused(_ arguments: [String], _ words: String) async throws {
        let finished = try await CommandProcess.run(["bridge"] + arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.errors.joined().contains(words), "\(finished.errors)")
    }

    @Test func aMissingPageOrIndexIsUnreadable() async throws {
        try await Self.with { trial in
            for page in ["nothing.html", "."] {
                let finished = try await trial.run(["bridge", page, "--engine", "browser"])
                #expect(finished.status == CommandStatus.unreadableFile.rawValue, "\(page): \(finished.errors)")
            }
        }
    }

    @Test func theLimitationsOfAnEngineAreReported() async throws {
        try await Self.with { trial in
            try trial.write("signalbox.call('pay');", to: "page.js")
            let finished = try await trial.run(["bridge", "page.js", "c.yaml"])
            #expect(finished.status == 0)
            #expect(finished.errors.contains { $0.contains("engine jsc: navigation: not reported") })
        }
    }

    @Test func aPageInABrowserCallsPlugins() async throws {
        try await Chromium.with { chromium in
            try await Self.with { trial in
                try trial.write("<!doctype html><script src=\"site/page.js\"></script>", to: "index.html")
                let folder = trial.folder.appendingPathComponent("site")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                try trial.write(
                    "signalbox.call('pay', { amount: 5 }).then(reply => signalbox.call('show', reply));",
                    to: "site/page.js"
                )
                let arguments = ["bridge", ".", "--engine", "browser", "c.yaml", "--count", "2"]
                let process = try trial.start(arguments)
                #expect(await process.errors.line(with: "engine browser: navigation: not reported") != nil)
                let line = try #require(await process.errors.line(with: "signalbox: open http://"))
                let tab = try await chromium.open(String(line.dropFirst("signalbox: open ".count)))
                #expect(await process.output.rest() == Self.messages)
                await process.ends()
                try await tab.close()
            }
        }
    }

    #if WebKitGTK
    @Test(.enabled(if: BuiltProgram.replacement == nil, "another program may have no web views"))
    func withoutADisplayAWebViewReportsARemedy() async throws {
        try await Self.with { trial in
            let finished = try await CommandProcess.run(
                ["bridge", "page.html", "--engine", "webkitgtk"],
                environment: ["DISPLAY": "", "WAYLAND_DISPLAY": "", "GDK_BACKEND": "x11"],
                folder: trial.folder
            )
            #expect(finished.status == CommandStatus.unavailable.rawValue)
            #expect(finished.errors.contains { $0.contains("there is no display") && $0.contains("xvfb-run") })
        }
    }

    /// Whether a window can be shown.
    private static func hasDisplay() -> Bool {
        if ProcessInfo.processInfo.environment["DISPLAY"] != nil { return true }
        #expect(ProcessInfo.processInfo.environment["SIGNALBOX_NEEDS_DISPLAY"] == nil, "there is no display")
        print("skipped: a web view of the command, as there is no display")
        return false
    }

    /// The page's own address is allowed first, and a link elsewhere is cancelled. Outside the test, because in an
    /// asynchronous closure a debug build of Swift 6.3 gives `navigations` other elements than the filter found.
    private static func expectNavigations(in lines: [String]) {
        #expect(lines.filter { $0.hasPrefix(#"{"source""#) } == messages)
        let navigations = lines.filter { $0.hasPrefix(#"{"navigation""#) }
        #expect(navigations.count == 2 && lines.first == navigations.first, "\(lines)")
        #expect(navigations.first?.contains(#""policy":"allow","decider":"ownOrigin""#) == true)
        #expect(navigations.last?.contains(#"{"navigation":"https://elsewhere.example/""#) == true)
        #expect(navigations.last?.contains(#""policy":"cancel""#) == true)
    }

    @Test func aWebViewCallsPluginsAndGetsNavigationVerdicts() async throws {
        guard Self.hasDisplay() else { return }
        try await Self.with { trial in
            let process = try trial.start(["bridge", "page.html", "--engine", "webkitgtk", "c.yaml"])
            var lines: [String] = []
            // Both navigations and both messages have a line; the page itself stays.
            while lines.count < 4, let line = await process.output.line(with: "{") { lines.append(line) }
            process.signal(SIGINT)
            await process.ends()
            Self.expectNavigations(in: lines)
            #expect(await process.output.rest() == [])
        }
    }

    @Test func aWebViewEndsAfterTheRequestedNumberOfMessages() async throws {
        guard Self.hasDisplay() else { return }
        try await Self.with { trial in
            let page = Self.page.replacing("location.href = 'https://elsewhere.example/';", with: "")
            try trial.write(page, to: "stays.html")
            let arguments = ["bridge", "stays.html", "--engine", "webkitgtk", "c.yaml", "--count", "2"]
            let finished = try await trial.run(arguments)
            #expect(finished.status == 0, "\(finished.errors)")
            #expect(Array(finished.output.dropFirst()) == Self.messages)
            #expect(finished.output.first?.contains(#""policy":"allow","decider":"ownOrigin""#) == true)
        }
    }
    #else
    @Test func withoutWebViewSupportTheRemedyIsReported() async throws {
        try await Self.with { trial in
            let finished = try await trial.run(["bridge", "page.html", "--engine", "webkitgtk"])
            #expect(finished.status == CommandStatus.unavailable.rawValue)
            #expect(finished.errors.contains { $0.contains("--traits default,WebKitGTK") })
        }
    }
    #endif
}

/// Pages of `bridge`, whose scripts run in a separate process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PageProcessTests {
    private static func configuration(_ page: String) -> String {
        """
        sources: { page: { script: { \(page) } } }
        plugins: [ { action: say, use: reply, value: hello, from: [ { source: page } ] } ]
        """
    }

    private static func bridge(
        _ script: String,
        _ page: String = "",
        _ arguments: String...
    ) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await LinkTrial.with(["a.js": script, "c.yaml": configuration(page)]) { trial in
            finished = try await trial.run(["bridge", "a.js", "c.yaml"] + arguments)
        }
        return try #require(finished)
    }

    @Test func aSeparateProcessGivesTheSameOutput() async throws {
        let script = """
            console.log('begun');
            signalbox.call('say', { a: 1 }).then((reply) => signalbox.call('say', reply), () => {});
            signalbox.call('nobody').catch((error) => signalbox.call('say', error.code));
            setTimeout(() => webkit.messageHandlers.say.postMessage([1, 2]), 1);
            setTimeout(() => { throw new Error('boom'); }, 2);
            """
        let own = try await Self.bridge(script)
        let shared = try await Self.bridge(script, "process: shared")
        #expect(own.output.sorted() == shared.output.sorted())
        #expect(own.output.count == 5 && own.status == CommandStatus.notAsExpected.rawValue)
        for words in ["begun", "script error: a.js:5", "script errors: 1"] {
            #expect(own.errors.contains { $0.contains(words) }, "\(own.errors)")
        }
    }

    @Test(arguments: [
        "const kept = []; for (;;) kept.push(new Uint8Array(1e8).fill(1));",
        "signalbox.call('say').then(() => { const kept = []; for (;;) kept.push('x'.repeat(1e7) + kept.length); });",
        "new Uint8Array(1e9).fill(1).sort();",
    ])
    func aPageOverTheMemoryLimitIsEnded(script: String) async throws {
        let finished = try await Self.bridge(
            script,
            "memory_limit: 200MiB, heap_limit: 1024GiB, execution_time_limit: 1h"
        )
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        #expect(finished.errors.contains { $0.contains("the page's process takes more than") }, "\(finished.errors)")
    }

    /// Only ending its process interrupts a call into the engine.
    @Test func anEndlessEngineCallIsEnded() async throws {
        let script = "/(a+)+b/.test('a'.repeat(60));"
        let limited = try await Self.bridge(script, "execution_time_limit: 100ms")
        #expect(limited.status == CommandStatus.notAsExpected.rawValue)
        let timed = try await Self.bridge(script, "execution_time_limit: 1h", "--timeout", "500ms")
        #expect(timed.status == CommandStatus.timeout.rawValue, "\(timed.errors)")
    }

    #if os(Linux)
    @Test func theProcessHasNoSecretsAndEndsWithTheCommand() async throws {
        try await LinkTrial.with([
            "a.js": "setInterval(() => {}, 1e6); signalbox.call('say');", "c.yaml": Self.configuration(""),
        ]) {
            trial in
            let command = try CommandProcess(
                ["bridge", "a.js", "c.yaml"],
                environment: ["SECRET": "canary-4711"],
                folder: trial.folder
            )
            try #require(await command.output.line() != nil)
            let child = try #require(try Self.children(of: command.id).first)
            let environment = try String(contentsOfFile: "/proc/\(child)/environ", encoding: .utf8)
            #expect(!environment.contains("canary-4711"))
            command.signal(SIGKILL)
            await command.ends(with: -SIGKILL)
            while !Task.isCancelled, Self.isThere(child) { await Task.yield() }
        }
    }

    @Test func aKilledProcessEndsItsPage() async throws {
        try await LinkTrial.with([
            "a.js": "setInterval(() => {}, 1e6); signalbox.call('say');", "c.yaml": Self.configuration(""),
        ]) {
            trial in
            let command = try CommandProcess(["bridge", "a.js", "c.yaml"], folder: trial.folder)
            try #require(await command.output.line() != nil)
            let child = try #require(try Self.children(of: command.id).first)
            kill(child, SIGKILL)
            let errors = await command.errors.rest()
            #expect(errors.contains { $0.contains("the page's process ended by signal 9") }, "\(errors)")
            #expect(await command.status() != 0)
        }
    }

    private static func children(of process: Int32) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { id in
            guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { return false }
            let fields = text[text.index(after: end)...].split(separator: " ")
            return fields.count > 1 && fields[0] != "Z" && Int32(fields[1]) == process
        }
    }

    private static func isThere(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        return !text.contains(") Z ")
    }
    #endif
}
