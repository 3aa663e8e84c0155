import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `signalbox run` with a configuration whose plugins send to other sources.
private struct ForwardingTrial {
    static let file = "signalbox.yaml"
    static let subscribed = "subscribed to"
    static let listening = "listening on ws://"

    let broker: Broker
    let folder: URL
    let process: CommandProcess
    /// The lines of stderr that the trial waited for, by the words in them.
    let lines: [String: String]

    /// A broker's source and a chat, which forward to each other.
    ///
    /// - Parameter chat: Further keys of the chat.
    static func dispatcher(_ broker: Broker, chat: String = "") -> String {
        """
        sources:
          push:
            mqtt:
              broker: '\(broker.url)'
              client_id: forward
              topics: [ { pattern: 'push/{device}/{action}' } ]
              publishing: {}
          chat: { chat: { port: 0, absent_origin: allowed, tags: [lobby] \(chat) } }
        plugins:
          - { action: order, use: broadcast, to: chat, tag: lobby, from: [ { source: push } ] }
          - { action: ready, use: send, to: push, topic: 'kitchen/{action}', from: [ { source: chat } ] }
        """
    }

    /// Runs `body` once stderr has a line with each of the words, in any order.
    ///
    /// - Parameter status: The expected status of the program.
    static func with(
        _ configuration: (Broker) -> String,
        files: [String: String] = [:],
        until words: String...,
        status: CommandStatus = .done,
        body: (ForwardingTrial) async throws -> Void
    ) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                for (name, text) in files { try ChatTrial.write(text, to: name, in: folder) }
                try ChatTrial.write(configuration(broker), to: file, in: folder)
                let process = try CommandProcess(["run", file, "--outcomes"], folder: folder)
                let lines = try await lines(of: process, with: words)
                try await body(ForwardingTrial(broker: broker, folder: folder, process: process, lines: lines))
                process.signal(SIGTERM)
                #expect(await process.status() == status.rawValue)
            }
        }
    }

    static func lines(of process: CommandProcess, with words: [String]) async throws -> [String: String] {
        var found: [String: String] = [:]
        while found.count < words.count {
            let line = try #require(await process.errors.line(with: " "))
            for word in words where line.contains(word) { found[word] = line }
        }
        return found
    }

    /// Connects a client to the chat that the line reports, and returns it once it is connected.
    func client(of line: String?) async throws -> CommandProcess {
        let url = try #require(line?.split(separator: " ").first { $0.hasPrefix("ws://") })
        let arguments = ["connect", String(url), "--raw", "--timeout", "100s"]
        let client = try CommandProcess(arguments, folder: folder, isTyped: true)
        try client.type(#"{"action":"ready","id":"c1","body":{"table":0}}"#)
        #expect(await client.output.line(with: "c1") == #"{"id":"c1","outcome":"handled"}"#)
        return client
    }
}

@Suite(.timeLimit(.minutes(10))) struct ForwardingTests {
    @Test func aPushReachesAChatAndAChatReachesTheBroker() async throws {
        let words = (ForwardingTrial.subscribed, ForwardingTrial.listening)
        try await ForwardingTrial.with({ ForwardingTrial.dispatcher($0) }, until: words.0, words.1) { trial in
            let client = try await trial.client(of: trial.lines[words.1])
            try await trial.broker.publish(#"{"dish":"soup"}"#, to: "push/7/order")
            let line = await client.output.line(with: "order")
            #expect(line == #"{"action":"order","body":{"device":"7","dish":"soup"}}"#)
            // The broker keeps no message for the subscriber, so the program must connect first.
            try await trial.broker.publish("{}", to: "kitchen/first", retain: true)
            let arguments = ["subscribe", trial.broker.url, "-t", "kitchen/#", "--count", "2", "--timeout", "100s"]
            let subscriber = try CommandProcess(arguments, folder: trial.folder)
            #expect(await subscriber.output.line(with: "kitchen/first") != nil)
            try client.type(#"{"action":"ready","body":{"table":7}}"#)
            let published = try #require(await subscriber.output.line(with: "kitchen/ready"))
            #expect(published.hasPrefix(#"{"topic":"kitchen/ready","payload":{"table":7}"#), "\(published)")
            await subscriber.ends()
            try client.closeInput()
        }
    }

    @Test func aReloadedChatIsStillATarget() async throws {
        let words = (ForwardingTrial.subscribed, ForwardingTrial.listening)
        try await ForwardingTrial.with({ ForwardingTrial.dispatcher($0) }, until: words.0, words.1) { trial in
            let changed = ForwardingTrial.dispatcher(trial.broker, chat: ", connections: 7")
            try ChatTrial.write(changed, to: ForwardingTrial.file, in: trial.folder)
            trial.process.signal(SIGHUP)
            let reloaded = ["configuration reloaded", ForwardingTrial.listening]
            let lines = try await ForwardingTrial.lines(of: trial.process, with: reloaded)
            #expect(lines[reloaded[0]]?.contains("sourcesChanged=chat") == true)
            let client = try await trial.client(of: lines[reloaded[1]])
            try await trial.broker.publish("{}", to: "push/7/order")
            #expect(await client.output.line(with: "order") == #"{"action":"order","body":{"device":"7"}}"#)
            try client.closeInput()
        }
    }

    /// A chat and a page that send to each other.
    private static func mutual(_ broker: Broker, chat: String = "", more: String = "") -> String {
        """
        sources:
          push:
            mqtt:
              broker: '\(broker.url)'
              client_id: mutual
              topics: [ { pattern: 'push/{action}' } ]
              publishing: {}
          chat: { chat: { port: 0, absent_origin: allowed, tags: [lobby] \(chat) } }
          screen: { script: { files: [screen.js \(more)] } }
        plugins:
          - { action: order, use: send, to: screen, from: [ { source: chat } ] }
          - { action: release, use: send, to: screen, from: [ { source: push } ] }
          - { action: ready, use: send, to: push, topic: 'kitchen/{action}', from: [ { source: chat } ] }
          - { action: shown, use: broadcast, to: chat, tag: lobby, from: [ { source: screen } ] }
        timeout: 1h
        drain_limit: 1h
        """
    }

    /// Each target still has a message for the other when both leave.
    @Test func aReloadOfTwoTargetsSettlesTheMessagesBetweenThem() async throws {
        let page = """
            let release
            signalbox.on('order', () => new Promise((resolve) => { release = resolve; console.log('page holds') }))
            signalbox.on('release', () => release('done'))
            """
        let files = ["screen.js": page, "more.js": ""]
        let words = (ForwardingTrial.subscribed, ForwardingTrial.listening)
        let mutual = { ForwardingTests.mutual($0) }
        // The messages that come during the reload are abandoned.
        try await ForwardingTrial.with(mutual, files: files, until: words.0, words.1, status: .drainIncomplete) {
            trial in
            let client = try await trial.client(of: trial.lines[words.1])
            try client.type(#"{"action":"order","id":"kept","body":{}}"#)
            #expect(await trial.process.errors.line(with: "page holds") != nil)
            let changed = ForwardingTests.mutual(trial.broker, chat: ", connections: 7", more: ", more.js")
            try ChatTrial.write(changed, to: ForwardingTrial.file, in: trial.folder)
            trial.process.signal(SIGHUP)
            // Once a message is abandoned, the reload has begun.
            var answer = ""
            while !answer.contains("abandoned") {
                try client.type(#"{"action":"ready","id":"probe","body":{}}"#)
                answer = try #require(await client.output.line(with: "probe"))
            }
            try await trial.broker.publish("{}", to: "push/release")
            #expect(await client.output.line(with: "kept") == #"{"id":"kept","outcome":"handled","reply":"done"}"#)
            let reloaded = try #require(await trial.process.errors.line(with: "configuration reloaded"))
            #expect(reloaded.contains("sourcesChanged=\"chat screen\""), "\(reloaded)")
            try client.closeInput()
        }
    }

    @Test func aPageThatSendsTakesMessagesDuringADrain() async throws {
        let page = """
            signalbox.on('order', async () => {
              for (let calls = 1; ; calls++) {
                try { await signalbox.call('shown', {}) } catch (error) { return String(error) }
                if (calls === 1) console.log('page calls')
              }
            })
            """
        let words = (ForwardingTrial.subscribed, ForwardingTrial.listening)
        let mutual = { ForwardingTests.mutual($0) }
        let files = ["screen.js": page]
        try await ForwardingTrial.with(mutual, files: files, until: words.0, words.1, status: .drainIncomplete) {
            trial in
            let client = try await trial.client(of: trial.lines[words.1])
            try client.type(#"{"action":"order","id":"kept","body":{}}"#)
            #expect(await trial.process.errors.line(with: "page calls") != nil)
            trial.process.signal(SIGTERM)
            let answer = try #require(await client.output.line(with: "kept"))
            #expect(answer.contains(#""outcome":"handled""#) && answer.contains("drain"), "\(answer)")
            _ = await trial.process.status()
            try client.closeInput()
        }
    }

    @Test func aMessageForAFeedReachesItsServer() async throws {
        try await ChatTrial.with { chat in
            let configuration = { (broker: Broker) in
                """
                sources:
                  push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'push/{action}' } ] } }
                  upstream: { feed: { url: '\(chat.url)' } }
                plugins: [ { action: say, use: send, to: upstream, from: [ { source: push } ] } ]
                """
            }
            let client = try chat.start("--raw")
            try client.type(#"{"action":"enter","id":"c1","body":{"tag":"lobby"}}"#)
            #expect(await client.output.line(with: "c1") != nil)
            let words = (ForwardingTrial.subscribed, "upstream: connected to")
            try await ForwardingTrial.with(configuration, until: words.0, words.1) { trial in
                try await trial.broker.publish(#"{"text":"hi"}"#, to: "push/say")
                #expect(await client.output.line(with: "say") == #"{"action":"say","body":{"text":"hi"}}"#)
            }
            try client.closeInput()
        }
    }

    /// The answers of the feed's server travel to the client that asked, through two programs.
    @Test func aFeedsServerRepliesToTheSender() async throws {
        try await ChatTrial.with { upstream in
            let configuration = """
                sources:
                  front: { chat: { port: 0, absent_origin: allowed } }
                  upstream: { feed: { url: '\(upstream.url)', calls: 1 } }
                plugins:
                  - { action: echo, use: send, to: upstream, reply: true, from: front }
                  - { action: missing, use: send, to: upstream, reply: true, from: front }
                """
            try await TemporaryFolder.with { folder in
                try ChatTrial.write(configuration, to: ForwardingTrial.file, in: folder)
                let process = try CommandProcess(["run", ForwardingTrial.file, "--outcomes"], folder: folder)
                let listening = ForwardingTrial.listening
                let lines = try await ForwardingTrial.lines(of: process, with: [listening, "upstream: connected to"])
                let line = lines[listening]?.split(separator: " ").first { $0.hasPrefix("ws://") }
                let front = ChatTrial(folder: folder, server: process, url: String(try #require(line)))
                let expected = [
                    (#"{"action":"echo","id":"1","body":{"n":[1,null]}}"#, #""handled","reply":{"n":[1,null]}}"#),
                    (#"{"action":"missing","id":"1"}"#, #""failed","error":{"code":"threw""#),
                ]
                for (message, answer) in expected {
                    let finished = try await front.connect(message + "\n", "--raw", "--count", "1")
                    #expect(finished.status == 0 && finished.output.first?.contains(answer) == true, "\(finished)")
                }
                let outcome = try #require(await process.output.line(with: "\"action\":\"missing\""))
                #expect(outcome.contains("the feed upstream: refused: the peer answered rejected"), "\(outcome)")
                process.signal(SIGTERM)
                #expect(await process.status() == 0)
            }
        }
    }

    /// The message stays at the broker, because the feed may connect later.
    @Test func aMessageForADisconnectedFeedIsGivenBack() async throws {
        let closed = try QuietListener()
        let configuration = { (broker: Broker) in
            """
            sources:
              push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'push/{action}' } ] } }
              upstream: { feed: { url: 'ws://127.0.0.1:\(closed.port)/' } }
            plugins: [ { action: say, use: send, to: upstream, from: [ { source: push } ] } ]
            """
        }
        try await TemporaryFolder.with { folder in
            try await Broker.with { broker in
                try ChatTrial.write(configuration(broker), to: ForwardingTrial.file, in: folder)
                let process = try CommandProcess(["run", ForwardingTrial.file, "--outcomes"], folder: folder)
                #expect(await process.errors.line(with: ForwardingTrial.subscribed) != nil)
                try await broker.publish("{}", to: "push/say")
                let line = try #require(await process.output.line(with: "\"outcome\":"))
                #expect(line.contains("\"outcome\":\"abandoned\""), "\(line)")
                #expect(line.contains("not sent: the feed upstream is not connected"), "\(line)")
                process.signal(SIGTERM)
                _ = await process.status()
            }
        }
    }

    @Test(arguments: [
        ("signalbox.on('show', (body) => console.log('shows ' + body.dish))", "\"outcome\":\"handled\"", "shows soup"),
        ("signalbox.on('show', () => { throw new Error('no') })", "not taken by the page screen: threw", ""),
    ])
    func aLinkReachesAPage(_ script: String, _ outcome: String, _ logged: String) async throws {
        let configuration = """
            sources:
              links: { links: { routes: [ { pattern: 'myapp://menu/{dish}', action: show } ], urls: ['myapp://menu/soup'] } }
              screen: { script: { files: [screen.js] } }
            plugins: [ { action: show, use: send, to: screen, from: [ { source: links } ] } ]
            """
        try await LinkTrial.with(["screen.js": script, ForwardingTrial.file: configuration]) { trial in
            let process = try CommandProcess(["run", ForwardingTrial.file, "--outcomes"], folder: trial.folder)
            let line = try #require(await process.output.line(with: "\"outcome\":"))
            #expect(line.contains(outcome), "\(line)")
            if !logged.isEmpty { #expect(await process.errors.line(with: logged) != nil) }
            process.signal(SIGTERM)
            await process.ends()
        }
    }

    @Test func aTargetThatDoesNotRunIsNamed() async throws {
        let configuration = """
            sources: { chat: { chat: { port: 0, absent_origin: allowed } } }
            plugins: [ { action: order, use: broadcast, to: chat, tag: a, from: [ { source: internal } ] } ]
            """
        try await LinkTrial.with([ForwardingTrial.file: configuration]) { trial in
            let finished = try await trial.run(["send", ForwardingTrial.file, "order"])
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let line = try #require(finished.output.first)
            #expect(line.contains("the source chat does not run in this command"), "\(line)")
        }
    }

    @Test func aTargetWithoutARuleIsOnlyDoubtfulIfItSubscribes() async throws {
        let configuration = """
            sources:
              push: { mqtt: { broker: mqtt://h, client_id: a, topics: ['push/{action}'], publishing: {} } }
              out: { mqtt: { broker: mqtt://h, client_id: b, topics: ['out/{action}'], publishing: {} } }
              chat: { chat: { port: 0, absent_origin: allowed } }
            plugins:
              - { action: order, use: broadcast, to: chat, from: push }
              - { action: ready, use: send, to: out, topic: out, from: push }
            """
        try await LinkTrial.with([ForwardingTrial.file: configuration]) { trial in
            let finished = try await trial.run(["check", "--strict", ForwardingTrial.file])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(finished.output.count == 1, "\(finished)")
            let words = "'out', so all of them are rejected; plugins send to it, but it also subscribes to its topics"
            #expect(finished.output.first?.contains(words) == true, "\(finished)")
            let named = configuration.replacing("topic: out, from: push", with: "topic: out, from: [push, out]")
            try ChatTrial.write(named, to: ForwardingTrial.file, in: trial.folder)
            #expect(try await trial.run(["check", "--strict", ForwardingTrial.file]).status == 0)
        }
    }

    @Test func explainShowsTheTarget() async throws {
        let configuration = """
            sources:
              chat: { chat: { port: 0, absent_origin: allowed } }
              links: { links: { routes: [ { pattern: 'myapp://menu/{dish}', action: show } ], urls: ['myapp://menu/a'] } }
            plugins: [ { action: show, use: broadcast, to: chat, tag: hall, from: [ { source: links } ] } ]
            """
        try await LinkTrial.with([ForwardingTrial.file: configuration]) { trial in
            let finished = try await trial.run([
                "explain", ForwardingTrial.file, "--url", "myapp://menu/soup",
            ])
            #expect(finished.output.joined().contains("; sends to the tag 'hall' of 'chat'"), "\(finished)")
        }
    }
}
