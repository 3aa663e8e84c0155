import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct RunPageTests {
    private static let configuration = """
        sources: { page: { script: { files: [a.js, b.js] } } }
        plugins:
          - { action: pay, use: reply, value: 7, from: [ { source: page } ] }
          - { action: show, use: print, from: [ { source: page } ] }
        """

    @Test func aPageOfAConfigurationRunsUntilASignal() async throws {
        try await PageTrial.with(RunPageTests.configuration) { trial in
            try trial.write("const reply = signalbox.call('pay');", to: "a.js")
            try trial.write("reply.then(value => window.webkit.messageHandlers.show.postMessage(value));", to: "b.js")
            let process = try trial.start(["run", "c.yaml", "--outcomes"])
            #expect(await process.output.line(with: #""action":"pay""#, #""outcome":"handled""#) != nil)
            #expect(await process.output.line(with: #""action":"show""#, #""outcome":"handled""#) != nil)
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            await process.ends()
            #expect(errors.last == "signalbox: handled 2, rejected 0, failed 0, abandoned 0, dead letters 0")
        }
    }

    @Test func aScriptThatIsNotThereIsAFileThatCannotBeRead() async throws {
        try await PageTrial.with(RunPageTests.configuration) { trial in
            try trial.write("", to: "a.js")
            let finished = try await trial.run(["run", "c.yaml"])
            #expect(finished.status == CommandStatus.unreadableFile.rawValue)
            #expect(finished.errors == ["signalbox: b.js: cannot be read: No such file or directory"])
        }
    }

    @Test func aPageWithoutFilesIsRefused() async throws {
        try await PageTrial.with("sources: { page: { script: {} } }\nplugins: []\n") { trial in
            let finished = try await trial.run(["run", "c.yaml"])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(
                finished.errors.first?.hasPrefix("signalbox: c.yaml:1:28: sources.page.script: 'files' is missing")
                    == true
            )
        }
    }
}
