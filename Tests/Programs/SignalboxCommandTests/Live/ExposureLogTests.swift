import BrokerKit
import Foundation
import Testing

/// The log lines of `run` about secrets that others can read. The brokers' addresses belong to nobody (RFC 5737).
@Suite(.timeLimit(.minutes(10))) struct ExposureLogTests {
    private static let words = "secret exposed"

    @Test func eachExposureIsLoggedOnceAtTheBeginning() async throws {
        let configuration = """
            sources:
              push:
                mqtt:
                  broker: mqtt://192.0.2.1
                  client_id: exposure-test
                  username: { env: TEST_USER }
                  password: { env: TEST_PASSWORD }
                  topics: [ { pattern: 'push/{action}' } ]
              more:
                mqtt:
                  broker: mqtt://192.0.2.2
                  client_id: exposure-more
                  username: { env: TEST_USER }
                  topics: [ { pattern: 'more/{action}' } ]
              links: { links: { routes: [ { pattern: 'myapp://{action}' } ], urls: ['myapp://show'] } }
            plugins: [ { action: show, use: print, from: [ { source: push }, { source: more }, { source: links } ] } ]
            """
        try await LinkTrial.with(["signalbox.yaml": configuration]) { trial in
            let process = try CommandProcess(
                ["run", "signalbox.yaml", "--log-level", "trace"],
                environment: ["TEST_USER": "canary-1147", "TEST_PASSWORD": "canary-4711"],
                folder: trial.folder
            )
            // The link was handled, so the program knows signals by now.
            try #require(await process.output.line(with: "\"action\":\"show\"") != nil)
            process.signal(SIGTERM)
            let lines = await process.errors.rest()
            await process.ends()
            let exposures = lines.filter { $0.contains(Self.words) }
            #expect(exposures.count == 2, "\(exposures)")
            for (line, key) in zip(exposures, ["sources.push.mqtt.password", "sources.more.mqtt.username"]) {
                #expect(line.contains(" warning ") && line.contains("use mqtts://"), "\(line)")
                #expect(line.contains("code=credentialsInClear key=\(key) "), "\(line)")
            }
            #expect(!lines.joined().contains("canary"))
        }
    }

    /// The lines on stderr up to the one that tells that the configuration was read.
    private static func reload(_ text: String, in trial: ReloadTrial) async throws -> [String] {
        try trial.request(text)
        var lines: [String] = []
        while lines.last?.contains("configuration read anew") != true {
            lines.append(try #require(await trial.process.errors.line()))
        }
        return lines
    }

    @Test func aReloadLogsWhatItExposesAndNothingTwice() async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let file = trial.folder.appendingPathComponent("password.txt")
            try Data("canary-4711\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            let login = "username: kiosk, password: { file: password.txt }"
            let topics = "topics: [ { pattern: 'far/{action}' } ]"
            let both = first.with { configuration in
                configuration.sources = [
                    "  far: { mqtt: { broker: 'mqtt://192.0.2.1', client_id: far-test, \(login), \(topics) } }"
                ]
                configuration.plugins = ["action: show, use: print, from: [ { source: far } ]"]
            }
            let lines = try await Self.reload(both.text, in: trial)
            let exposures = lines.filter { $0.contains(Self.words) }
            #expect(exposures.count == 2, "\(lines)")
            for code in ["credentialsInClear", "readableSecret"] {
                let told = exposures.filter { $0.contains("code=\(code) key=sources.far.mqtt.password ") }
                #expect(told.count == 1, "\(code): \(lines)")
            }
            let later = try await Self.reload(both.with { $0.options = "timeout: 20s" }.text, in: trial)
            #expect(later.last?.contains("pluginsChanged=log") == true, "\(later)")
            let again = later.filter { $0.contains(Self.words) }
            #expect(again.isEmpty, "\(again)")
            let end = await trial.end()
            #expect(end.status == 0)
            #expect(!(lines + later + end.errors).joined().contains("canary"))
        }
    }
}
