import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct CommandStatusTests {
    @Test(arguments: [
        ["--help"], ["run", "--help"], ["subscribe", "--help"], ["bridge", "--help"], ["send", "--help"],
        ["parse", "--help"], ["navigate", "--help"], ["check", "--help"], ["explain", "--help"], ["test", "--help"],
        ["graph", "--help"],
        ["serve", "--help"], ["connect", "--help"], ["publish", "--help"], ["request", "--help"],
        ["dead", "--help"], ["store", "--help"], ["dead", "list", "--help"], ["dead", "show", "--help"],
        ["dead", "replay", "--help"], ["dead", "export", "--help"], ["dead", "import", "--help"],
        ["dead", "purge", "--help"], ["store", "info", "--help"], ["store", "check", "--help"],
        ["store", "backup", "--help"], ["log", "--help"],
    ])
    func helpHasAnExampleAndTheStatuses(_ arguments: [String]) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == 0)
        #expect(finished.output.contains { $0.contains("EXAMPLE") })
        let statuses = try #require(finished.output.firstIndex { $0.contains("EXIT STATUS") })
        #expect(finished.errors.isEmpty)
        guard arguments.count == 2 else { return }
        // The lines are as long as the terminal is wide, so a name may be at the start of any of them.
        let rest = finished.output[(statuses + 1)...].prefix { !$0.isEmpty }.joined(separator: " ")
        let names = SignalboxTool.configuration.subcommands.compactMap { $0.configuration.commandName }
        for name in names { #expect(!rest.contains("\(name):") && !rest.contains("\(name),"), "\(rest)") }
    }

    @Test(arguments: [
        ("connect", "the server cannot be reached, the connection broke, or a plugin could not start"),
        ("publish", "the server cannot be reached, or the connection broke"),
        ("send", "a source or plugin could not start, or a source gave up"), ("explain", nil),
    ])
    func theHelpSaysWhatIsUnavailable(_ command: String, _ meaning: String?) async throws {
        // The words of long lines are wrapped.
        let finished = try await CommandProcess.run([command, "--help"])
        let words = finished.output.joined(separator: " ").split(separator: " ").joined(separator: " ")
        let statuses = words.split(separator: "EXIT STATUS").dropFirst().joined()
        #expect(statuses.contains(" 69 \(meaning ?? "")") == (meaning != nil), "\(statuses)")
    }

    @Test(arguments: [
        ["nonsense"], ["run"], ["run", "a", "b"], ["subscribe"], ["subscribe", "mqtt://h"],
        ["subscribe", "http://h", "--topic", "a"], ["subscribe", "mqtt://h", "--topic", "a#"],
        ["subscribe", "mqtt://h", "--topic", "a", "--count", "0"],
        ["subscribe", "mqtt://h", "--topic", "a", "--timeout", "soon"],
        ["subscribe", "mqtt://h", "--topic", "a", "--topic", "a"],
        ["subscribe", "mqtt://h", "--topic", "a", "--password-env", "P"],
        ["subscribe", "mqtt://h", "--topic", "a", "--user", "u", "--password-env", "P", "--password-file", "p"],
        ["subscribe", "mqtt://h", "-t", "a", "--qos", "2"], ["subscribe", "mqtt://h", "-t", "a", "--share", "a/b"],
        ["subscribe", "mqtt://h", "-t", "$share/a/b", "--share", "c"],
        ["subscribe", "mqtt://h", "-t", "$share"], ["subscribe", "mqtt://h", "-t", "$share/g"],
        ["subscribe", "mqtt://h", "-t", "$share/g/"], ["connect", "ws://h/", "--linger", "soon"],
        ["subscribe", "mqtt://h", "-t", "a", "--retained", "never"],
        ["subscribe", "mqtt://h", "-t", "a", "--exclude", "a#"],
        ["subscribe", "mqtt://h", "-t", "a", "--exclude", "$share/g/a"],
        ["publish", "mqtt://h"], ["publish", "mqtt://h", "-t", "a"],
        ["publish", "mqtt://h", "-t", "a/+", "--body", "b"],
        ["publish", "mqtt://h", "-t", "a", "--body", "b", "--lines"],
        ["publish", "mqtt://h", "-t", "a", "--body", "b", "--file", "c"],
        ["publish", "mqtt://h", "-t", "a", "--body", "b", "--expiry", "10ms"],
        ["publish", "mqtt://h", "-t", "a", "--body", "b", "--content-type", "c", "--v311"],
        ["request", "mqtt://h", "-t", "a"], ["request", "mqtt://h", "-t", "a", "--body", "b", "--v311"],
        ["bridge"], ["bridge", "a.js", "--source", "page"], ["bridge", "a.js", "--timeout", "soon"],
        ["send"], ["send", "a"], ["send", "c", "a b"], ["send", "c", "a", "--id", ""],
        ["send", "c", "a", "--timeout", "1.5"],
        ["parse"], ["parse", "a:b", "--stdin"], ["parse", "a:b", "--source", "links"], ["parse", "a:b", "--base", "x"],
        ["check"], ["check", "--strict"], ["navigate"], ["navigate", "a:b"],
        ["navigate", "c", "a:b", "--stdin"], ["connect", "c.yaml", "d.yml"], ["bridge", "c.yaml"],
        ["navigate", "c", "a:b", "--kind", "lnik"], ["navigate", "c", "a:b", "--frame", "top"],
        ["explain"], ["explain", "c"], ["explain", "--url", "a:b"],
        ["graph"], ["graph", "a", "b"], ["graph", "c", "--format", "png"], ["graph", "{}"],
        ["test"], ["test", "a", "b"], ["test", "c", "--format", "xml"], ["test", "{}"],
        ["explain", "--url", "a:b", "--body", "1", "c"],
        ["explain", "--url", "a:b", "c", "--topic", "t"],
        ["explain", "--url", "a:b", "c", "--frame", "main"],
        ["explain", "--body", "1", "c", "--topic", "a/+"],
        ["explain", "--body", "1", "c", "--topic", "a", "--qos", "2"],
        ["explain", "--body", "1", "c", "--origin", "null"],
        ["explain", "--body", "1", "c", "--handler", "a b"],
        ["explain", "--url", "a:b", "c", "--principal", "p"],
        ["subscribe", "mqtt://h", "-t", "a", "--raw", "--hex"], ["subscribe", "mqtt://h", "-t", "a", "-v", "-F", "%p"],
        ["subscribe", "mqtt://h", "-t", "a", "-N"], ["subscribe", "mqtt://h", "-t", "a", "-F", "%Z"],
        ["connect", "ws://h/", "--verbose"], ["connect", "ws://h/", "c.yaml", "--format", "%p"],
        ["navigate", "https://h/", "c.yaml"], ["serve", "ws://u:canary@h/"],
        ["explain", "{}", "c.yaml", "--url", "a:b"], ["send", "a?b", "c.yaml"],
        ["publish", "mqtt://h", "-lr"], ["request", "mqtt://h", "-t", "a", "-m", "b", "-v"],
        ["serve"], ["serve", "c", "--port", "65536"],
        ["connect"], ["connect", "http://h/"], ["connect", "ws://h/", "ws://i/"], ["connect", "ws://h/#a"],
        ["connect", "ws://h/", "--count", "0"], ["connect", "ws://h/", "--timeout", "soon"],
        ["connect", "ws://h/", "--source", "a"], ["connect", "ws://h/", "c.yaml", "--raw"],
        ["connect", "ws://h/", "--header", "X"], ["connect", "ws://h/", "--header", "Upgrade: x"],
        ["connect", "ws://h/", "--ca", "f"], ["connect", "wss://h/", "--ca", "f", "--insecure"],
        ["connect", "wss://h/", "--cert", "f"], ["connect", "ws://h/", "--ping", "often"],
        ["connect", "ws://h/", "--ping", "2h"], ["connect", "ws://h/", "--bearer-env", "a", "--bearer-file", "b"],
        ["connect", "ws://h/", "--subprotocol", "a b"],
        ["dead", "nonsense"], ["dead", "list", "--since", "soon"], ["dead", "list", "--limit", "0"],
        ["dead", "list", "--source", "a b"], ["dead", "list", "7"], ["dead", "show"], ["dead", "show", "first"],
        ["dead", "purge", "--yes"], ["dead", "purge", "7", "--all"], ["dead", "purge", "7", "--reason", "expired"],
        ["dead", "replay"], ["dead", "replay", "7", "--rate", "0"], ["dead", "replay", "7", "--to", "a b"],
        ["dead", "import", "a", "b"], ["store", "check", "a"], ["store", "backup"], ["store", "chek"],
        ["log", "7"], ["log", "--limit", "0"], ["log", "--since", "soon"], ["log", "--source", "a b"],
    ])
    func wrongArgumentsAreUsageErrors(_ arguments: [String]) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.output.isEmpty)
        #expect(!finished.errors.isEmpty)
    }

    @Test(arguments: [
        (["subscrbe"], "Unknown command 'subscrbe'. Did you mean 'subscribe'?"),
        (["pub", "mqtt://h"], "Unknown command 'pub'. Did you mean 'publish'?"),
        (["help", "chekc"], "Unknown command 'chekc'. Did you mean 'check'?"),
        (["dead", "lsit"], "Unknown command 'lsit'. Did you mean 'list'?"),
        (["store", "--info"], "Unknown option '--info'."),
        (["dead", "list", "--sice", "2h"], "Unknown option '--sice'. Did you mean '--since'?"),
        (["list", "--since", "2h"], "Unknown command 'list'."),
        (["check", "--dry-run", "c"], "Unknown option '--dry-run'. Did you mean 'dead replay --dry-run'?"),
        (["xyzzy"], "Unknown command 'xyzzy'. The commands are: run, serve, check, "),
        (["publish", "mqtt://h", "-t", "a", "-s"], "Unknown option '-s'. Did you mean '--file -'?"),
        (["publish", "mqtt://h", "-k", "5"], "Unknown option '-k'. Did you mean '--keepalive'?"),
        (
            ["publish", "mqtt://h", "-V", "mqttv5"],
            "Unknown option '-V'. MQTT 5 is the default; '--v311' selects MQTT 3.1.1."
        ),
        (["publish", "mqtts://h", "--cafile", "f"], "Unknown option '--cafile'. Did you mean '--ca'?"),
        (
            ["connect", "-c", "ws://h/"],
            "Unknown option '-c'. Write the server as a URL: signalbox connect ws://HOST:PORT/PATH"
        ),
        (["subscribe", "mqtt://h", "-m", "b"], "Unknown option '-m'. Did you mean 'publish -m'?"),
        (["subscribe", "mqtt://h", "-P", "b", "-t", "a"], "Unknown option '-P'. Did you mean '--password-env'?"),
        (["subscribe", "mqtt://h", "--topik", "a"], "Unknown option '--topik'. Did you mean '--topic'?"),
        (["subscribe", "-topic", "a"], "Unknown option '-topic'. Did you mean '--topic'?"),
        (["check", "--josn", "c"], "Unknown option '--josn'. Did you mean '--json'?"),
        (["publish", "mqtt://h", "-ta"], "The value of '-t' must be a separate argument, such as -t VALUE."),
        (["--verison"], "Unknown option '--verison'. Did you mean '--version'?"),
        (["check", "--hlep"], "Unknown option '--hlep'. Did you mean '--help'?"),
        (["--body", "a"], "Unknown option '--body'. Did you mean 'publish --body'?"),
        (["publish", "mqtt://h", "-t", "a", "--payload", "b"], "Unknown option '--payload'. Did you mean '--body'?"),
        (["connect", "ws://h/", "--message", "b"], "Unknown option '--message'. Did you mean '--body'?"),
        (["connect", "ws://h/", "--reconnect"], "Unknown option '--reconnect'. Did you mean '--retry'?"),
        (["subscribe", "mqtts://h", "-t", "a", "--tls-ca", "b"], "Unknown option '--tls-ca'. Did you mean '--ca'?"),
        (
            ["send", "a", "--config", "c"],
            "Unknown option '--config'. 'send' takes the configuration as an argument: signalbox send CONFIG ACTION"
        ),
        (
            ["run", "--config", "c"],
            "Unknown option '--config'. 'run' takes the configuration as an argument: signalbox run CONFIG"
        ),
        (
            ["check", "-c", "c"],
            "Unknown option '-c'. 'check' takes the configuration as an argument: signalbox check CONFIG"
        ),
    ])
    func anUnknownNameHasASuggestion(_ arguments: [String], _ sentence: String) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.first?.hasPrefix("Error: \(sentence)") == true, "\(finished.errors)")
    }

    /// Each entry is a line as users of other clients type it, and the words to look for in the answer.
    @Test(arguments: [
        ("connect -k wss://h", "'--insecure'"), ("connect -1 ws://h", "'--count 1'"),
        ("connect -n1 ws://h", "'--linger never'"), ("connect -l 8080", "'serve --listen'"),
        ("connect --one-message ws://h", "'--count 1'"), ("connect -E ws://h", "'--exit-after-input'"),
        ("connect -U ws://h", "'--no-input'"), ("connect -u ws://h", "-u takes a user name"),
        ("connect ws://h -w 1", "Use --linger"), ("connect ws://h -s chat", "'--subprotocol'"),
        ("connect -b ws://h", "'--binary'"), ("connect -t ws://h", "Messages are text"), ("connect -V", "'--version'"),
        ("serve -s 8080", "'--listen'"), ("serve -l 8080", "'--listen'"), ("-V", "'--version'"), ("-v", "'--version'"),
        ("subscribe mqtt://h -t a -c", "'--keep-session'"), ("subscribe mqtt://h -t a -d", "'--log-level debug'"),
        ("subscribe mqtt://h -t a -x 60", "'--session-expiry'"), ("subscribe mqtt://h -t a -R", "'--retained ignore'"),
        ("subscribe mqtts://h -t a --psk 0123", "Use --psk-env or --psk-file"),
        ("publish mqtt://h -t a -n", "Use --body ''"), ("publish mqtt://h -t a -x 60", "'subscribe --session-expiry'"),
        ("publish mqtt://h -t a -c", "'subscribe --keep-session'"),
        ("publish mqtt://h -t a -D publish content-type text/plain", "Use --content-type"),
        ("request mqtt://h -t a -s", "'--file -'"),
    ])
    func theOptionOfAnotherClientHasItsReplacement(_ line: String, _ words: String) throws {
        let arguments = line.split(separator: " ").map(String.init)
        let error = #expect(throws: (any Error).self) { try SignalboxTool.parseAsRoot(arguments) }
        let text = SignalboxTool.message(for: error ?? CancellationError())
        let sentence = CommandTable().unknownName(in: arguments) ?? text
        #expect(sentence.contains(words), "\(sentence)")
    }

    @Test(arguments: [
        "bash": "[[ ${positional_number} -eq 1 ]] && __signalbox_add_completions -W 'run\nserve",
        "zsh": "':subcommand:(run serve ",
        "fish": #""signalbox help" -eq 1' -fa 'run serve "#,
    ])
    func theCompletionsOfHelpAreTheCommands(_ shell: String, _ text: String) async throws {
        let finished = try await CommandProcess.run(["--generate-completion-script", shell])
        #expect(finished.status == 0)
        #expect(finished.output.joined(separator: "\n").contains(text))
    }

    @Test(arguments: [["-Pcanary-4711"], ["--psk", "canary-4711"]])
    func aSecretAfterTheOptionOfAnotherClientIsNotRepeated(_ secret: [String]) async throws {
        let finished = try await CommandProcess.run(["subscribe", "mqtts://h", "-t", "a"] + secret)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(!finished.errors.joined().contains("canary-4711"), "\(finished.errors)")
    }

    @Test(arguments: [
        ["subscribe", "-h", "localhost"], ["subscribe", "-t", "a", "-h", "localhost", "--count", "1"],
        ["publish", "-hlocalhost", "-t", "a"], ["request", "-h", "mqtt://h", "-t", "a"],
        ["subscribe", "--host", "h", "-t", "a"], ["subscribe", "mqtt://h", "-p", "1884", "-t", "a"],
    ])
    func aHostOptionIsRefusedWithTheURLToWrite(_ arguments: [String]) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.output.isEmpty)
        let advice = "Write the broker as a URL: signalbox \(arguments[0]) mqtt://HOST:PORT"
        #expect(finished.errors.first?.contains(advice) == true, "\(finished.errors)")
    }

    @Test func aHostOptionOfConnectIsRefusedWithTheURLToWrite() async throws {
        let finished = try await CommandProcess.run(["connect", "-h", "localhost"])
        #expect(finished.status == CommandStatus.usage.rawValue)
        let advice = "Write the server as a URL: signalbox connect ws://HOST:PORT/PATH"
        #expect(finished.errors.first?.hasSuffix(advice) == true, "\(finished.errors)")
    }

    @Test(arguments: [["-h"], ["subscribe", "-h"], ["subscribe", "mqtt://h", "-h"], ["connect", "-h"]])
    func aSingleHShowsTheHelp(_ arguments: [String]) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == 0)
        #expect(finished.output.contains { $0.contains("EXIT STATUS") })
    }

    #if os(Linux)
    @Test(arguments: [["--help"], ["--version"], ["help", "run"], ["check", "-h"], []])
    func helpOnAFullDiskIsAnError(_ arguments: [String]) async throws {
        let process = try CommandProcess(
            arguments,
            startedBy: ["/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full"]
        )
        #expect(await process.errors.rest() == ["signalbox: cannot write: No space left on device"])
        await process.ends(with: CommandStatus.outputFailed.rawValue)
    }
    #endif

    @Test func aBrokerURLWithAPasswordIsRefusedWithoutRepeatingIt() async throws {
        let finished = try await CommandProcess.run(["subscribe", "mqtt://u:canary-4711@127.0.0.1", "--topic", "a"])
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(!finished.errors.joined().contains("canary-4711"))
    }

    @Test(arguments: [
        ["connect", "ws://u:canary-4711@127.0.0.1/"], ["connect", "http://h/?token=canary-4711"],
        ["connect", "ws://h/?token=canary-4711", "ws://h/?token=canary-4711"],
        ["connect", "ws://h/", "--header", "Authorization: Bearer canary-4711"],
        ["connect", "ws://h/", "--header", "X-Api-Key: canary-4711"],
        ["connect", "ws://h/", "--header", "Cookie: a=canary-4711"],
        ["connect", "ws://h/", "--bearer-env", "canary-4711"],
        ["connect", "ws://h/", "--header-env", "Authorization: Bearer canary-4711"],
        ["subscribe", "mqtt://h", "--topic", "a", "--password-env", "canary-4711"],
        ["subscribe", "mqtt://h", "--topic", "a", "-Pcanary-4711"], ["mqtt://u:canary-4711@h", "--topic", "a"],
        ["subscribe", "mqtt://h", "--topic", "a", "--pasword=canary-4711"],
        ["publish", "mqtt://u:canary-4711@h", "-t", "a", "--body", "b"],
        ["request", "mqtts://h", "-t", "a", "--body", "b", "--psk-identity", "c", "--psk-env", "canary-4711"],
    ])
    func aSecretInTheArgumentsIsNotRepeated(_ arguments: [String]) async throws {
        let finished = try await CommandProcess.run(arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(!finished.errors.isEmpty && !finished.errors.joined().contains("canary-4711"), "\(finished.errors)")
    }

    @Test(.enabled(if: BuiltProgram.replacement == nil, "another program has its own commit and traits"))
    func theVersionHasCommitAndTraits() async throws {
        let finished = try await CommandProcess.run(["--version"])
        #expect(finished.status == 0)
        let expected = ["signalbox \(BuildInformation.version)", "commit unknown", "traits \(BuildInformation.traits)"]
        #expect(finished.output == expected)
        #expect(finished.errors.isEmpty)
    }

    @Test func aMissingConfigurationHasItsOwnStatus() async throws {
        let finished = try await CommandProcess.run(["run", "/nowhere/signalbox.yaml"])
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
    }

    @Test func eachConfigurationErrorIsOneLineWithItsPosition() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("bad.yaml")
            try "sources: 1\nplugins: 2\n".write(to: file, atomically: true, encoding: .utf8)
            let finished = try await CommandProcess.run(["run", file.path])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(finished.output.isEmpty)
            let places = finished.errors.map { $0.contains("\(file.path):1:10:") || $0.contains("\(file.path):2:10:") }
            #expect(places == [true, true])
        }
    }

    @Test func anUnreachableBrokerEndsASubscriptionAtOnce() async throws {
        let port = try await Broker.with { $0.port }
        let finished = try await CommandProcess.run(["subscribe", "mqtt://127.0.0.1:\(port)", "--topic", "a"])
        #expect(finished.status == CommandStatus.unavailable.rawValue)
        #expect(finished.output.isEmpty)
    }

    @Test func everyStatusIsDocumented() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let text = String(
            decoding: try FileContent.read("\(root)/docs/exit-status.md", limit: 1 << 20).get(),
            as: UTF8.self
        )
        let documented = text.split(separator: "\n").compactMap { line in
            line.split(separator: "|").first.flatMap { Int32($0.filter { $0 != " " }) }
        }
        #expect(documented == CommandStatus.allCases.map(\.rawValue))
    }
}
