import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Plants secrets in the wrong places of a configuration and searches the output of `check` and `run` for them.
@Suite(.timeLimit(.minutes(10))) struct CanaryConfigurationTests {
    /// A valid configuration. Each trial replaces a part of it.
    private static let good = """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:1
              client_id: canary-test
              username: { env: TEST_USER }
              password: { env: TEST_PASSWORD }
              topics: [ { pattern: 'push/{device}/{action}' } ]
        plugins:
          - { action: loading, use: print, from: [ { source: push } ] }
        timeout: 3s
        """

    private static let c = CanaryRun.canary
    private static let password = "{ env: TEST_PASSWORD }"
    private static let broker = "mqtt://127.0.0.1:1"

    /// The replaced part, and its replacement.
    private static let trials: [(String, String)] = [
        (password, c), (password, "'\(c) two words'"), (password, "[ \(c) ]"), (password, "{ value: \(c) }"),
        (password, "{ \(c) }"), (password, "{ \(c): x }"), (password, "{ env: TEST_PASSWORD, \(c): x }"),
        (password, "{ env: [ \(c) ] }"), (password, "{ env: NOT_SET_AT_ALL, file: \(c) }"),
        (password, "'\(c)"), (password, "\"\(c)\\q\""), (password, "*\(c)"), (password, "!\(c) x"),
        (password, "!!int \(c)"), (password, "{ \(c)"), (password, "a: \(c)"), (password, "%\(c)"),
        (password, "@\(c)"), (password, "\"\(c)\u{1}\""), (password, "|\n\(c)"),
        ("      password:", "\tpassword: \(c)"),
        ("password: \(password)", "password: \(c)\n      password: \(c)"),
        ("client_id:", "tls: { key_file: /etc/\(c).pem, passphrase: \(c) }\n      client_id:"),
        ("client_id:", "key_passphrase: \(c)\n      client_id:"), ("client_id:", "passwrd: \(c)\n      client_id:"),
        ("username: { env: TEST_USER }", "username: [ \(c) ]"), ("timeout: 3s", "api_key: \(c)"),
        ("timeout: 3s", "timeout: 3s\n---\npassword: \(c)"),
        (broker, "mqtt://kiosk:\(c)@127.0.0.1"), (broker, "kiosk:\(c)@127.0.0.1"), (broker, "'mqtt://h token=\(c)'"),
        (broker, "mqtt://127.0.0.1/?password=\(c)"), (broker, "mqtts://kiosk:\(c)@127.0.0.1"),
        ("  push:", "  token=\(c):"), ("source: push }", "source: 'token=\(c)' }"),
        ("source: push }", "source: push, topic: '#/token=\(c)' }"), ("use: print", "use: 'token=\(c)'"),
        ("use: print", "use: reply, value: !x \(c)"), ("push/{device}/{action}", "#/token=\(c)"),
        ("timeout: 3s", "navigation: { chain: [ { home: 'https://u:\(c)@shop.example/' } ], fallback: cancel }"),
        ("timeout: 3s", "navigation: { chain: [ { hosts: [ 'https://u:\(c)@h' ] } ], fallback: cancel }"),
        ("timeout: 3s", "navigation: { chain: [ { paths: [ 'https://u:\(c)@h/{x}' ] } ], fallback: cancel }"),
        (
            "timeout: 3s",
            "navigation: { chain: [ { external_browser: { own_hosts: [ 'https://u:\(c)@h' ] } } ], fallback: cancel }"
        ),
        ("plugins:", "  page: { script: { files: [ 'https://u:\(c)@h/a.js?token=\(c)' ] } }\nplugins:"),
        (
            "plugins:",
            "  l: { links: { routes: [ { pattern: 'https://u:\(c)@h/{action}' } ], urls: [ 'a:b' ] } }\nplugins:"
        ),
        (
            "plugins:",
            "  l: { links: { routes: [ { pattern: 'a:/{action}' } ], file: '/nowhere/l?token=\(c)' } }\nplugins:"
        ),
    ]

    @Test(arguments: trials.indices)
    func anErrorIsReportedWithoutItsSecret(_ number: Int) async throws {
        let (part, replacement) = Self.trials[number]
        try #require(Self.good.contains(part))
        let text = Self.good.replacing(part, with: replacement, maxReplacements: 1)
        for arguments in [
            ["check", "FOLDER/c.yaml"], ["check", "--json", "FOLDER/c.yaml"], ["run", "FOLDER/c.yaml"],
        ] {
            let run = try await Self.run(arguments, text)
            #expect(run.status == 65 || run.status == 66, "\(arguments[0]) of \(replacement): \(run.everything)")
            #expect(!run.everything.isEmpty && !run.everything.contains(Self.c), "\(run.everything)")
        }
    }

    /// The variables and files that a configuration names, and their content.
    @Test(arguments: ["{ env: TEST_PASSWORD }", "{ file: FOLDER/secret }"], ["", "\n", "\u{0}\(c)", "\(c)\n\(c)"])
    func aSecretsLocationIsReportedWithoutTheSecret(_ reference: String, _ content: String) async throws {
        let text = Self.good.replacing(Self.password, with: reference)
        let environment = ["TEST_PASSWORD": content.replacing("\u{0}", with: "")]
        let run = try await Self.run(["check", "FOLDER/c.yaml"], text, environment, files: ["secret": content])
        #expect(run.status == 0 || run.everything.contains(reference.contains("env") ? "TEST_PASSWORD" : "secret"))
        #expect(!run.everything.contains(Self.c), "\(run.everything)")
    }

    @Test func checkingAValidConfigurationShowsNoSecret() async throws {
        let run = try await Self.run(["check", "FOLDER/c.yaml"], Self.good)
        #expect(run.status == 0)
        #expect(!run.everything.contains(Self.c))
    }

    private static func run(
        _ arguments: [String],
        _ text: String,
        _ environment: [String: String] = [:],
        files: [String: String] = [:]
    ) async throws -> CanaryRun {
        try await CanaryRun(
            arguments,
            files: files.merging(["c.yaml": text]) { $1 },
            environment: ["TEST_USER": "\(c)-user", "TEST_PASSWORD": "\(c)-password"].merging(environment) { $1 }
        )
    }
}

/// One run of the built program in its own folder, with all its output.
struct CanaryRun {
    /// The secret that tests plant and search for.
    static let canary = "Canary7Q"

    let status: Int32
    let output: String
    let errors: String

    /// Runs the program to its end.
    ///
    /// - Parameters:
    ///   - arguments: `FOLDER/` in them, and in the files, stands for the folder with these files.
    ///   - files: The content of each file, by name.
    ///   - input: The text for stdin.
    init(
        _ arguments: [String],
        files: [String: String] = [:],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
        func placed(_ text: String) -> String { text.replacing("FOLDER/", with: folder.path + "/") }
        for (name, text) in files { try placed(text).write(to: file(name), atomically: true, encoding: .utf8) }
        if let input { try input.write(to: file("stdin"), atomically: true, encoding: .utf8) }
        let finished = try await CommandProcess.run(
            arguments.map(placed),
            environment: environment,
            input: input == nil ? nil : file("stdin")
        )
        status = finished.status
        output = finished.output.map { $0 + "\n" }.joined()
        errors = finished.errors.map { $0 + "\n" }.joined()
    }

    var everything: String { output + errors }

    /// The lines of stderr.
    var diagnostics: [Substring] { errors.split(separator: "\n") }

    /// Returns the objects on stdout without these members, which show messages on purpose.
    func objects(without members: Set<String>) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (object ?? ["notAnObject": line]).filter { !members.contains($0.key) }
        }
    }
}
