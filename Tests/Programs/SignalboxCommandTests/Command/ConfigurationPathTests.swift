import BrokerKit
import Foundation
import Testing

/// Configurations that name variables and files.
@Suite(.timeLimit(.minutes(10))) struct ConfigurationPathTests {
    private static func with(
        _ files: [String: String],
        _ body: (URL) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            for (name, text) in files {
                let file = folder.appendingPathComponent(name)
                let parent = file.deletingLastPathComponent()
                try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
                try text.write(to: file, atomically: true, encoding: .utf8)
            }
            try await body(folder)
        }
    }

    /// Every kind of reference to a secret. None of the variables and files of secrets exists.
    private static let secrets = """
        sources:
          push:
            mqtt:
              broker: { env: NO_SUCH_BROKER }
              client_id: { file: no-client }
              username: { env: NO_SUCH_USER }
              password: { file: no-password }
              topics: [ { pattern: 'a/{action}' } ]
              identity: { certificate: c.yaml, key: no-key }
          paired:
            mqtt:
              broker: mqtts://broker.example
              client_id: paired
              pre_shared_key: { identity: { env: NO_SUCH_IDENTITY }, key: { env: NO_SUCH_KEY } }
              topics: [ { pattern: 'b/{action}' } ]
          prices:
            feed:
              url: { env: NO_SUCH_URL }
              bearer: { file: no-bearer }
              headers: { X-Key: { env: NO_SUCH_HEADER } }
              opening_messages: [ { file: no-message } ]
          chat: { chat: { port: 0, principals: { anna: { env: NO_SUCH_TOKEN }, ben: { file: no-token } } } }
        plugins:
          - action: tick
            use: log
            from:
              - { source: push }
              - { source: paired }
              - { source: prices, tls: true }
              - { source: chat, principal: anna }
        """

    @Test func aConfigurationIsCheckedAndExplainedWithoutItsSecrets() async throws {
        try await Self.with(["c.yaml": Self.secrets]) { folder in
            let checked = try await CommandProcess.run(["check", "--strict", "c.yaml"], folder: folder)
            #expect(checked.output.isEmpty)
            #expect(checked.status == 0)
            let message = ["explain", "c.yaml", "--body"]
            let push = try await CommandProcess.run(
                message + ["{}", "--source", "push", "--topic", "a/tick"],
                folder: folder
            )
            #expect(push.status == 0, "\(push.errors)")
            let tick = #"{"action":"tick"}"#
            let feed = try await CommandProcess.run(message + [tick, "--source", "prices"], folder: folder)
            #expect(feed.status == 0)
            #expect(
                feed.errors == ["signalbox: the URL of 'prices' is not read; add --with-secrets to read it"]
            )
        }
    }

    @Test func missingSecretsAreTheOnlyErrorsIfTheyAreRead() async throws {
        try await Self.with(["c.yaml": Self.secrets]) { folder in
            let checked = try await CommandProcess.run(["check", "--with-secrets", "c.yaml"], folder: folder)
            #expect(checked.status == 65)
            let variables = checked.output.filter { $0.hasSuffix("is not set or empty [missingVariable]") }
            let files = checked.output.filter { $0.hasSuffix("[missingFile]") }
            #expect(variables.count == 7)
            #expect(files.count == 6)
            #expect(checked.output.count == variables.count + files.count, "\(checked.output)")
            for command in [["explain", "--with-secrets", "--url", "a://b", "c.yaml"], ["run", "c.yaml"]] {
                let finished = try await CommandProcess.run(command, folder: folder)
                #expect(finished.status == 65)
                let missing = finished.errors.filter {
                    $0.contains("is not set or empty") || $0.contains("cannot read the file no-")
                }
                #expect(missing.count == 12)
                #expect(finished.errors == missing)
            }
        }
    }

    @Test(arguments: [
        "{ env: '' }", "{ env: a b }", "{ env: 4711 }", "{ env: '4711' }", "{ file: '' }", #"{ file: "a\0b" }"#,
    ])
    func aReferenceWithAnInvalidFormIsTheOnlyError(_ reference: String) async throws {
        let text =
            "{ port: 0, principals: { anna: \(reference) } } }\nplugins: [ { action: a, use: log, from: [ { source: c } ] } ]"
        try await Self.with(["c.yaml": "sources:\n  c: { chat: \(text)"]) { folder in
            let checked = try await CommandProcess.run(["check", "c.yaml"], folder: folder)
            #expect(checked.status == 65)
            #expect(checked.output.count == 1, "\(checked.output)")
            #expect(checked.output.first?.contains(": sources.c.chat.principals.anna.") == true)
            #expect(checked.output.first?.contains("4711") == false)
        }
    }

    private static let links = """
        sources:
          links:
            links: { routes: [ { pattern: 'myapp://{action}' } ], file: links.txt }
          page: { script: { files: [sub/page.js] } }
        plugins:
          - { action: keep, use: file, path: ./actions.jsonl, from: [ { source: links } ] }
          - { action: seen, use: print, from: [ { source: page } ] }
        """

    private static let files = [
        "conf/c.yaml": links, "conf/links.txt": "myapp://keep\n", "conf/sub/page.js": "signalbox.call('seen');",
    ]

    @Test func pathsAreRelativeToTheFolderOfTheConfiguration() async throws {
        try await Self.with(Self.files) { folder in
            for file in ["conf/c.yaml", "\(folder.path)/conf/c.yaml"] {
                let checked = try await CommandProcess.run(["check", "--strict", file], folder: folder)
                #expect(checked.status == 0, "\(checked.output)")
            }
            let process = try CommandProcess(["run", "conf/c.yaml", "--outcomes"], folder: folder)
            try await process.output.untilLines(3)
            process.signal(SIGTERM)
            #expect(await process.unexpectedEnd() == nil)
            let log = try String(contentsOf: folder.appendingPathComponent("conf/actions.jsonl"), encoding: .utf8)
            #expect(log.contains(#""action":"keep""#))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("actions.jsonl").path))
        }
    }

    @Test func pathsOfAConfigurationFromStdinAreRelativeToTheWorkingDirectory() async throws {
        try await Self.with(Self.files) { folder in
            let conf = folder.appendingPathComponent("conf")
            let input = conf.appendingPathComponent("c.yaml")
            let inside = try await CommandProcess.run(["check", "/dev/stdin"], folder: conf, input: input)
            #expect(inside.status == 0, "\(inside.output)")
            let outside = try await CommandProcess.run(["check", "/dev/stdin"], folder: folder, input: input)
            #expect(outside.output.count == 2, "\(outside.output)")
        }
    }

    @Test func anErrorShowsThePathAsItIsOpened() async throws {
        let files = Self.files.filter { $0.key == "conf/c.yaml" }
        try await Self.with(files) { folder in
            let checked = try await CommandProcess.run(["check", "conf/c.yaml"], folder: folder)
            let advice = "does not exist; paths are relative to the configuration's folder [missingFile]"
            let expected = ["links.txt", "sub/page.js"].map { "the file conf/\($0) \(advice)" }
            #expect(checked.output.count == 2)
            #expect(zip(checked.output, expected).allSatisfy { $0.hasSuffix($1) }, "\(checked.output)")
            let run = try await CommandProcess.run(["run", "conf/c.yaml"], folder: folder)
            #expect(run.status == 66)
            #expect(run.errors.first?.hasPrefix("signalbox: conf/links.txt: cannot be read: ") == true, "\(run.errors)")
        }
    }

    @Test(arguments: [("links.txt", "file"), ("sub/page.js", "files[0]"), ("./actions.jsonl", "path")])
    func aNoncharacterInAPathIsAnError(_ path: String, _ key: String) async throws {
        var files = Self.files
        files["conf/c.yaml"] = Self.links.replacing(path, with: "\"\(path)\\uFDD0\\uFDE0ignored\"")
        try await Self.with(files) { folder in
            let checked = try await CommandProcess.run(["check", "conf/c.yaml"], folder: folder)
            #expect(checked.status == 65)
            #expect(checked.output.count == 1, "\(checked.output)")
            #expect(
                checked.output.first?.contains(".\(key): a path cannot contain the noncharacters") == true,
                "\(checked.output)"
            )
        }
    }

    @Test(arguments: [("links.txt", "file"), ("sub/page.js", "files[0]"), ("./actions.jsonl", "path")])
    func aNULInAPathIsAnError(_ path: String, _ key: String) async throws {
        var files = Self.files
        files["conf/c.yaml"] = Self.links.replacing(path, with: "\"\(path)\\0ignored\"")
        try await Self.with(files) { folder in
            for command in ["check", "run"] {
                let finished = try await CommandProcess.run([command, "conf/c.yaml"], folder: folder)
                #expect(finished.status == 65)
                let lines = (finished.output + finished.errors).filter { $0.contains("NUL") }
                #expect(lines.count == 1)
                #expect(lines.first?.contains(".\(key): a path cannot contain a NUL character") == true, "\(lines)")
            }
            let log = folder.appendingPathComponent("conf/actions.jsonl").path
            #expect(!FileManager.default.fileExists(atPath: log))
        }
    }
}
