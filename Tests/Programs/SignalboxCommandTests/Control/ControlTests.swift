import BrokerKit
import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(5))) struct ControlTests {
    @Test func theStatusHasSourcesPluginsAndDeadLetters() async throws {
        try await ControlTrial.with { trial in
            try await trial.dispatch(["good", "good", "bad", "unknown", "stuck"])
            let status = try await trial.status { !$0.isReady && $0.problems.contains { $0.plugin == "stuck" } }
            #expect(status.program.configuration == "c.yaml" && status.program.logLevel == "debug")
            #expect(status.program.residentBytes ?? 1 > 0 && status.program.pid > 1)
            let source = try #require(status.sources.first)
            #expect(source.source == "links" && source.kind == "links" && source.isConnected == nil)
            #expect(source.outcomes == .init(handled: 2, rejected: 1, failed: 2, abandoned: 0))
            #expect(status.plugins.map(\.plugin) == ["good", "bad", "echo", "stuck", "none"])
            #expect(status.plugins.map(\.use) == ["log", "fail", "echo", "suspend", nil])
            let good = try #require(status.plugins.first)
            #expect(good.outcomes.handled == 2 && good.p50Seconds ?? 0 > 0 && good.rate > 0)
            #expect(status.plugins[3].stalled == 1)
            #expect(status.plugins[4].outcomes.rejected == 1)
            #expect(status.deadLetters.total == 3)
            #expect(Set(status.deadLetters.last.map(\.reason)) == ["threw", "unknownAction", "timeout"])
            let command = try await trial.run("status", "--config", "c.yaml")
            #expect(command.status == CommandStatus.notAsExpected.rawValue)
            let shown: ProgramStatus = try ControlClient.decoded(Array(try #require(command.output.first).utf8))
            #expect(shown.sources.first?.outcomes == source.outcomes)
        }
    }

    @Test func theHistoryGrowsEachSecond() async throws {
        try await ControlTrial.with { trial in
            try await trial.dispatch(["good", "good", "bad"])
            while true {
                let history = try #require(try await trial.status(history: true).sources.first?.history)
                guard history.reduce(0, +) == 3 else {
                    try await Task.sleep(for: .milliseconds(100))
                    continue
                }
                #expect(history.count <= ActivityHistory.seconds)
                return
            }
        }
    }

    @Test func anActionIsSentToTheRunningProgram() async throws {
        try await ControlTrial.with { trial in
            let echoed = try await trial.run(
                "send",
                "c.yaml",
                "echo",
                "-m",
                "{\n \"a\": [1, 2]}",
                "--id",
                "7",
                "--to-running"
            )
            #expect(echoed.status == 0)
            let body = #""body":{"a":[1,2]}"#
            #expect(
                echoed.output == [
                    #"{"source":"internal","action":"echo","id":"7",\#(body),"outcome":"handled","reply":{"a":[1,2]}}"#
                ]
            )
            let failed = try await trial.run("send", "c.yaml", "bad", "--to-running")
            #expect(failed.status == CommandStatus.notAsExpected.rawValue)
            #expect(failed.output.first?.contains(#""outcome":"failed","reason":"threw""#) == true)
            let status = try await trial.status()
            #expect(status.sources.last?.source == "internal" && status.sources.last?.kind == "internal")
            #expect(status.sources.last?.outcomes == .init(handled: 1, rejected: 0, failed: 1, abandoned: 0))
        }
    }

    @Test func aBodyThatIsNotJSONOrTooLargeIsRefused() async throws {
        let small = ControlTrial.configuration() + "\nlimits: { message_bytes: 100 }"
        try await ControlTrial.with(small) { trial in
            let broken = try await trial.run("send", "c.yaml", "echo", "-m", "{", "--to-running")
            #expect(broken.status == CommandStatus.invalidConfiguration.rawValue && broken.output.isEmpty)
            let long = "\"\(String(repeating: "x", count: 200))\""
            let large = try await trial.run("send", "c.yaml", "echo", "-m", long, "--to-running")
            #expect(large.status == CommandStatus.invalidConfiguration.rawValue && large.output.isEmpty)
            #expect(large.errors.first?.contains("cannot be sent as JSON") == true)
        }
    }

    @Test func aPluginMustAllowTheSourceInternal() async throws {
        let closed = ControlTrial.configuration().replacing("from: internal", with: "from: links")
        try await ControlTrial.with(closed) { trial in
            let refused = try await trial.run("send", "c.yaml", "echo", "--to-running")
            #expect(refused.status == CommandStatus.notAsExpected.rawValue)
            #expect(refused.output.first?.contains(#""reason":"sourceNotAllowed""#) == true)
            #expect(refused.errors.first?.contains("add 'internal' to 'from' of the plugin 'echo'") == true)
        }
    }

    @Test func aReloadSaysWhatChanged() async throws {
        try await ControlTrial.with { trial in
            let changed = ControlTrial.configuration("control: other.control")
                .replacing("use: fail", with: "use: log")
            try ProcessTrial.write(changed, in: trial.folder)
            let applied = try await trial.run("reload", "--control", "c.control")
            #expect(applied.status == 0)
            #expect(applied.output.first?.contains(#""isApplied":true"#) == true)
            #expect(applied.output.first?.contains(#""pluginsChanged":["bad"]"#) == true)
            #expect(applied.errors.first?.contains("control needs a restart") == true)
            try await trial.dispatch(["bad"])
            #expect(try await trial.status().plugins[1].outcomes.handled == 1)
            try ProcessTrial.write(changed + "\nx: 1\n", in: trial.folder)
            let refused = try await trial.run("reload", "--control", "c.control")
            #expect(refused.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(refused.output.first?.contains(#""isApplied":false,"problems":[{"at":"c.yaml:"#) == true)
            #expect(refused.errors.first?.contains("unknown key 'x'") == true)
            #expect(try await trial.status().plugins[1].use == "log")
        }
    }

    @Test func aDrainWaitsForTheEnd() async throws {
        try await ControlTrial.with { trial in
            try await trial.dispatch(["good", "bad"])
            let drained = try await trial.run("drain", "--config", "c.yaml")
            #expect(drained.status == 0)
            #expect(
                drained.output == [
                    #"{"isDrained":true,"isClean":true,"handled":1,"rejected":0,"failed":1,"abandoned":0,"#
                        + #""unsettled":0,"deadLetters":1,"notReturned":[]}"#
                ]
            )
            #expect(await trial.process.status() == 0)
            #expect(!FileManager.default.fileExists(atPath: trial.path))
            let again = try await trial.run("drain", "--config", "c.yaml")
            #expect(again.status == CommandStatus.unavailable.rawValue)
            #expect(again.errors.first?.contains("no program answers at c.control") == true)
        }
    }

    @Test func aDrainThatIsNotCleanSaysSo() async throws {
        try await ControlTrial.with(ControlTrial.configuration() + "\ndrain_limit: 10ms") { trial in
            try await trial.dispatch(["stuck"])
            let drained = try await trial.run("drain", "--config", "c.yaml")
            #expect(drained.status == CommandStatus.drainIncomplete.rawValue)
            #expect(drained.output.first?.contains(#""notReturned":["links/stuck"]"#) == true)
        }
    }

    @Test func theLogLevelChangesAtOnce() async throws {
        try await ControlTrial.with { trial in
            #expect(try await trial.run("log-level", "--config", "c.yaml").output == [#"{"logLevel":"debug"}"#])
            let changed = try await trial.run("log-level", "error", "--config", "c.yaml")
            #expect(changed.output == [#"{"logLevel":"error","former":"debug"}"#])
            try await trial.dispatch(["bad"])
            _ = try await trial.run("log-level", "info", "--config", "c.yaml")
            try await trial.dispatch(["stuck"])
            let lines = await trial.process.errors.line(with: "dead letter")
            #expect(lines?.contains("action=stuck") == true, "the dead letter before was not logged")
        }
    }

    @Test func theTapShowsWhatIsSelected() async throws {
        try await ControlTrial.with { trial in
            let tap = try CommandProcess(
                ["tap", "--config", "c.yaml", "--outcome", "failed", "--bodies", "-C", "2"],
                folder: trial.folder
            )
            // The tap sees only what is settled after it began, so send until it has seen enough.
            let sending = Task {
                while !Task.isCancelled {
                    for action in ["good", "bad"] { _ = try await trial.run("send", "c.yaml", action, "--to-running") }
                }
            }
            let lines = await tap.output.rest()
            sending.cancel()
            _ = try? await sending.value
            #expect(lines.count == 2)
            for line in lines {
                #expect(line.contains(#""source":"internal","action":"bad""#) && line.contains(#""plugin":"bad""#))
                #expect(line.contains(#""outcome":"failed","reason":"threw""#) && line.contains(#""body":null"#))
                #expect(line.contains(/"seconds":[0-9.e-]+[,}]/))
            }
            #expect(await tap.status() == 0)
        }
    }
}
