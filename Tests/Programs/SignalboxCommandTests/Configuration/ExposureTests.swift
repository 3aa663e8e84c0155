import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Warnings about secrets that others can read.
@Suite struct ExposureTests {
    private static func text(_ source: String) -> String {
        "sources: { in: \(source) }\nplugins: [ { action: a, use: log, from: [ { source: in } ] } ]\n"
    }

    private static func mqtt(_ broker: String, _ keys: String = "username: u, password: { env: PASSWORD }") -> String {
        text("{ mqtt: { broker: '\(broker)', client_id: c, topics: [ { pattern: 'x/{action}' } ], \(keys) } }")
    }

    private static func feed(_ url: String, _ keys: String = "bearer: { env: PASSWORD }") -> String {
        text("{ feed: { url: '\(url)', \(keys) } }")
    }

    private static func codes(_ text: String, _ environment: Environment = ConfigurationFixture.environment) throws
        -> [String]
    {
        let configuration = try ConfigurationReader.read(text, file: "c.yaml", environment: environment)
        let warnings = ConfigurationReader.lint(text, file: "f.yaml", readsSecrets: true, environment: environment)
            .findings.filter {
                $0.code.logMessage != nil
            }
        #expect(warnings == configuration.warnings)
        return configuration.warnings.map { "\($0.code) \($0.path)" }
    }

    @Test(arguments: ["mqtt://broker.example", "mqtt://192.0.2.1", "mqtt://127.0.0.1.example", "mqtt://127.1.example"])
    func aCleartextPasswordIsReported(broker: String) throws {
        #expect(try Self.codes(Self.mqtt(broker)) == ["credentialsInClear sources.in.mqtt.password"])
    }

    @Test(arguments: [
        "mqtts://broker.example", "mqtt://localhost", "mqtt://127.0.0.2", "mqtt://[::1]", "mqtt://LOCALHOST",
    ])
    func anUnexposedPasswordIsNotReported(broker: String) throws {
        #expect(try Self.codes(Self.mqtt(broker)).isEmpty)
    }

    @Test(
        arguments: [
            ("ws://chat.example/", ["credentialsInClear sources.in.feed.bearer"]), ("wss://chat.example/", []),
            ("ws://127.0.0.1:8080/", []), ("ws://[::1]/", []),
        ] as [(String, [String])]
    )
    func aCleartextTokenIsReported(url: String, codes: [String]) throws {
        #expect(try Self.codes(Self.feed(url)) == codes)
    }

    @Test(
        arguments: [
            ("mqtt://broker.example", "username: u", ["credentialsInClear sources.in.mqtt.username"]),
            ("mqtt://broker.example", "username: { env: PASSWORD }", ["credentialsInClear sources.in.mqtt.username"]),
            ("mqtt://broker.example", "keepalive: 15s", []), ("mqtts://broker.example", "username: u", []),
            ("mqtt://localhost", "username: u", []),
        ] as [(String, String, [String])]
    )
    func aCleartextUserNameIsReported(broker: String, keys: String, codes: [String]) throws {
        #expect(try Self.codes(Self.mqtt(broker, keys)) == codes)
    }

    /// Each broker of a list gets the login, and the local host of a remote proxy is the proxy's own machine.
    @Test(
        arguments: [
            ("ws://broker.example", "", ["password"]), ("[mqtt://localhost, mqtt://broker.example]", "", ["password"]),
            ("[ws://localhost, unix:/s, mqtt://127.0.0.1]", "", []), ("wss://broker.example", "", []),
            ("unix:/run/mosquitto.sock", "", []), ("mqtt://localhost", "proxy: 'http://p.example'", ["password"]),
            ("mqtt://localhost", "proxy: 'http://127.0.0.1'", []),
            ("[mqtt://localhost, unix:/s]", "proxy: 'http://p.example'", ["password"]),
            ("ws://broker.example", "headers: { X: { env: PASSWORD } }", ["password", "headers"]),
            ("ws://broker.example", "headers: { X: kiosk }", ["password"]),
            (
                "mqtts://broker.example",
                "proxy: { url: 'http://p.example', username: u, password: { env: PASSWORD } }", ["proxy.password"]
            ),
        ] as [(String, String, [String])]
    )
    func aCleartextLoginAtAnyBrokerIsReported(brokers: String, keys: String, found: [String]) throws {
        let text = Self.mqtt("BROKERS", "username: u, password: { env: PASSWORD }\(keys.isEmpty ? "" : ", ")\(keys)")
        let codes = try Self.codes(text.replacing("'BROKERS'", with: brokers))
        #expect(Set(codes) == Set(found.map { "credentialsInClear sources.in.mqtt.\($0)" }))
        #expect(codes.count == found.count)
    }

    @Test(
        arguments: [
            (
                "ws://chat.example/", "headers: { X-Client: kiosk, X-Token: { env: PASSWORD } }",
                ["credentialsInClear sources.in.feed.headers"]
            ),
            (
                "ws://chat.example/", "bearer: { env: PASSWORD }, headers: { X-Token: { env: PASSWORD } }",
                ["credentialsInClear sources.in.feed.bearer", "credentialsInClear sources.in.feed.headers"]
            ),
            ("ws://chat.example/", "headers: { X-Client: kiosk }", []),
            ("ws://chat.example/", "username: u", ["credentialsInClear sources.in.feed.username"]),
            (
                "ws://chat.example/", "username: u, password: { env: PASSWORD }",
                ["credentialsInClear sources.in.feed.password"]
            ),
            ("wss://chat.example/", "username: u, password: { env: PASSWORD }", []),
            ("ws://chat.example/", "unix_socket: /run/chat.sock, bearer: { env: PASSWORD }", []),
            ("wss://chat.example/", "headers: { X-Token: { env: PASSWORD } }", []),
            ("ws://localhost:8080/", "headers: { X-Token: { env: PASSWORD } }", []),
        ] as [(String, String, [String])]
    )
    func aCleartextHeaderIsReported(url: String, keys: String, codes: [String]) throws {
        #expect(try Self.codes(Self.feed(url, keys)) == codes)
    }

    /// No proxy is sent its login encrypted.
    @Test(arguments: [
        ("'http://p.example'", []), ("{ url: 'http://p.example' }", []),
        ("{ url: 'http://p.example', username: u, password: { env: PASSWORD } }", ["password"]),
        ("{ url: 'socks5://127.0.0.1', username: u, password: { env: PASSWORD } }", []),
    ])
    func aCleartextLoginOfAProxyIsReported(proxy: String, keys: [String]) throws {
        let expected = keys.map { "credentialsInClear sources.in.feed.proxy.\($0)" }
        #expect(try Self.codes(Self.feed("wss://chat.example/", "proxy: \(proxy)")) == expected)
    }

    /// A certificate is not a secret.
    @Test(arguments: [
        ("mqtt", "broker: 'mqtts://broker.example', client_id: c, topics: [ { pattern: 'x/{action}' } ]"),
        ("feed", "url: 'wss://chat.example/'"), ("chat", "port: 0, absent_origin: allowed"),
    ])
    func aWorldReadableCertificateKeyIsReported(kind: String, keys: String) throws {
        let text = Self.text("{ \(kind): { \(keys), identity: { certificate: c.pem, key: k.pem } } }")
        for isOpen in [false, true] {
            var environment = ConfigurationFixture.environment
            environment.isOpenToOthers = { _ in isOpen }
            let expected = isOpen ? ["readableSecret sources.in.\(kind).identity.key"] : []
            #expect(try Self.codes(text, environment) == expected)
        }
    }

    @Test(arguments: [(0o600, false), (0o640, false), (0o604, true), (0o644, true)])
    func aWorldReadableSecretFileIsReported(mode: Int, isReported: Bool) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)")
        try Data("canary-4711\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        let text = Self.feed("wss://chat.example/").replacing("{ env: PASSWORD }", with: "{ file: '\(file.path)' }")
        let found = try Self.codes(text, .process)
        #expect(found == (isReported ? ["readableSecret sources.in.feed.bearer"] : []))
    }
}

/// The log lines of `run` about secrets that others can read. The brokers' addresses are unassigned (RFC 5737).
@Suite(.timeLimit(.minutes(10))) struct ExposureLogTests {
    private static let words = "secret exposed"

    @Test func eachExposureIsLoggedOnceAtStart() async throws {
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
            // The link has been handled, so the program handles signals.
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

    /// Reloads and returns the lines on stderr up to the one that reports the new configuration.
    private static func reload(_ text: String, in trial: ReloadTrial) async throws -> [String] {
        try trial.request(text)
        var lines: [String] = []
        while lines.last?.contains("configuration reloaded") != true {
            lines.append(try #require(await trial.process.errors.line()))
        }
        return lines
    }

    @Test func aReloadLogsOnlyNewExposures() async throws {
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
                let reported = exposures.filter { $0.contains("code=\(code) key=sources.far.mqtt.password ") }
                #expect(reported.count == 1, "\(code): \(lines)")
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
