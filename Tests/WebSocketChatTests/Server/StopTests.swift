import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct StopTests {
    /// A configuration with enough time to say goodbye to every client, however slow the machine is.
    private static var lingering: WebSocketServerConfiguration {
        ServerTrial.configuration { $0.closeTimeout = .seconds(60) }
    }

    private func port(of server: WebSocketServer) async throws -> UInt16 {
        guard let port = await server.port() else { throw NeverListened() }
        return port
    }

    @Test func aGracefulStopAnswersAcceptedMessagesBeforeClosing() async throws {
        let intake = FakeIntake()
        let (server, log) = try ServerTrial.make(Self.lingering)
        try await ChatClients.with { clients in
            let run = Task { try await server.run(into: intake) }
            let port = try #require(await server.port())
            let one = try await clients.open(port)
            one.send(#"{"action":"a","id":"1"}"#)
            one.send(#"{"action":"a","id":"2"}"#)
            await intake.untilTaken(2)
            run.cancel()
            // The server admits no new client while it waits for the outcomes.
            while !Task.isCancelled {
                let event = await clients.refusal(port)
                if case .closed(_, .refused(status: 503)) = event { break }
            }
            #expect(one.textsSoFar.isEmpty)
            for taken in intake.taken { taken.settle() }
            #expect(await one.ended() == .closedByPeer(.goingAway, reason: "the server is stopping"))
            #expect(one.textsSoFar.sorted() == [1, 2].map { #"{"id":"\#($0)","outcome":"handled"}"# })
            try await run.value
            #expect(await server.port() == nil)
            #expect(server.counts.open == 0 && server.counts.notTaken == 0)
            #expect(log.all.contains { $0.contains("listening on ws://127.0.0.1:\(port)/") })
            #expect(log.all.contains { $0.contains("stopped listening") })
        }
    }

    @Test func messagesWithoutRoomAtAStopAreAbandoned() async throws {
        let intake = FakeIntake(room: 1)
        let (server, _) = try ServerTrial.make(ServerTrial.configuration())
        try await ChatClients.with { clients in
            let run = Task { try await server.run(into: intake) }
            let one = try await clients.open(try await port(of: server))
            for id in 1...3 { one.send(#"{"action":"a","id":"\#(id)"}"#) }
            await intake.waitForRoomRequest()
            run.cancel()
            // These messages were read but not taken for lack of room. They are answered nevertheless.
            #expect(await one.texts(1).allSatisfy { $0.contains(#""outcome":"abandoned""#) })
            intake.taken[0].settle()
            _ = await one.ended()
            intake.close()
            try await run.value
            let answers = one.textsSoFar
            #expect(answers.last == #"{"id":"1","outcome":"handled"}"#)
            #expect(answers.count == 1 + server.counts.notTaken)
            #expect(server.counts.notTaken >= 1)
        }
    }

    @Test func aDrainAnswersEveryMessageAndEndsTheRun() async throws {
        let gate = Gate()
        let (server, _) = try ServerTrial.make(Self.lingering)
        let supervisor = Supervisor(
            configuration: .patient,
            logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try supervisor.register(
            Registration("work", as: RawBody.self, from: .source("chat")) { _, _ in await gate.pass() }
        )
        try supervisor.add(server)
        try await ChatClients.with { clients in
            let run = Task { try await supervisor.run() }
            let one = try await clients.open(try await port(of: server))
            for id in 1...5 { one.send(#"{"action":"work","id":"\#(id)"}"#) }
            await gate.untilArrived(1)
            supervisor.shutDown()
            gate.open()
            #expect(await one.ended() == .closedByPeer(.goingAway, reason: "the server is stopping"))
            try await run.value
            let answers = one.textsSoFar
            #expect(answers.allSatisfy { $0.contains("handled") || $0.contains("abandoned") })
            #expect(answers.count { $0.contains("handled") } == supervisor.report.total.handled)
            #expect(answers.count == supervisor.report.total.handled + server.counts.notTaken)
            #expect(supervisor.report.isClean)
        }
    }

    @Test func aClosedIntakeEndsTheRun() async throws {
        let intake = FakeIntake(room: 0)
        let (server, _) = try ServerTrial.make(Self.lingering)
        try await ChatClients.with { clients in
            async let run: Void = server.run(into: intake)
            let one = try await clients.open(try await port(of: server))
            intake.close()
            one.send(#"{"action":"a","id":"1"}"#)
            #expect(await one.ended() == .closedByPeer(.goingAway, reason: "the server is stopping"))
            #expect(one.textsSoFar.count == 1 && one.textsSoFar[0].contains("abandoned"))
            try await run
            #expect(server.counts.notTaken == 1)
        }
    }

    @Test func aServerRunsAgainButNotConcurrently() async throws {
        let (server, _) = try ServerTrial.make(ServerTrial.configuration())
        for round in 0..<3 {
            let intake = FakeIntake.handling()
            let run = Task { try await server.run(into: intake) }
            while !Task.isCancelled, await server.port() == nil { await Task.yield() }
            let port = try #require(await server.port())
            await #expect { try await server.run(into: intake) } throws: { error in
                (error as? WebSocketChatError)?.code == .alreadyRunning
            }
            try await ChatClients.with { clients in
                let one = try await clients.open(port)
                one.send(#"{"action":"a","id":"\#(round)"}"#)
                await one.texts(1)
                run.cancel()
                _ = await one.ended()
            }
            try await run.value
            #expect(server.counts.opened == round + 1)
        }
    }

    @Test func aRunCancelledBeforeItStartsEnds() async throws {
        let (server, _) = try ServerTrial.make(ServerTrial.configuration())
        let run = Task { try await server.run(into: FakeIntake.handling()) }
        run.cancel()
        try await run.value
        #expect(await server.port() == nil)
    }

    @Test func aPortInUseAndAnUnavailableAddressAreReported() async throws {
        try await ServerTrial.with { trial in
            for (address, port) in [("127.0.0.1", trial.port), ("192.0.2.1", 0)] {
                let (server, _) = try ServerTrial.make(
                    ServerTrial.configuration {
                        $0.address = address
                        $0.port = port
                    }
                )
                await #expect { try await server.run(into: FakeIntake.handling()) } throws: { error in
                    guard let error = error as? WebSocketChatError else { return false }
                    return error.code == .notListening && "\(error)".contains("\(address):\(port)")
                        && error.source == "chat"
                }
                #expect(await server.port() == nil)
            }
        }
    }

    @Test func aServerListensOnlyOnItsAddress() async throws {
        try await ServerTrial.with { trial in
            try await ChatClients.with { clients in
                for (address, isThere) in [("127.0.0.1", true), ("127.0.0.2", false), ("::1", false)] {
                    let id = clients.transport.connect(
                        to: ClientTarget(address: address, port: trial.port, host: "localhost", path: "/")
                    )
                    let events = await clients.events.wait { $0.contains { $0.connection == id } }
                    guard let event = events.first(where: { $0.connection == id }) else { continue }
                    if case .opened = event { #expect(isThere) } else { #expect(!isThere, "\(address): \(event)") }
                }
            }
        }
    }

    @Test func aServerListensOnIPv6() async throws {
        // Another process may use the same port on 127.0.0.1, but hardly each time.
        var isTakenThere = true
        for _ in 0..<5 where isTakenThere { isTakenThere = try await listensOnIPv6() }
        #expect(!isTakenThere)
    }

    /// Connects to a server on ::1.
    ///
    /// - Returns: Whether another listener has its port on 127.0.0.1.
    private func listensOnIPv6() async throws -> Bool {
        try await ServerTrial.with {
            $0.address = "::1"
        } _: { trial -> Bool in
            try await ChatClients.with { clients in
                let target = ClientTarget(address: "::1", port: trial.port, host: "localhost", path: "/")
                let id = clients.transport.connect(to: target)
                let events = await clients.events.wait { $0.contains { $0.connection == id } }
                guard case .opened = events[0] else {
                    Issue.record("\(events)")
                    return
                }
            }
            #expect(trial.log.all.contains { $0.contains("listening on ws://[::1]:\(trial.port)/") })
            return RawPeer(port: trial.port) != nil
        }
    }

    @Test func anUnreadableTokenEndsTheRunBeforeListening() async throws {
        let (server, _) = try ServerTrial.make(
            ServerTrial.configuration {
                $0.principals = [WebSocketPrincipal("a", token: .environment("NO_SUCH_TOKEN"))]
            }
        )
        await #expect { try await server.run(into: FakeIntake.handling()) } throws: { error in
            guard let error = error as? WebSocketChatError else { return false }
            return error.code == .secretUnavailable && "\(error)".contains("NO_SUCH_TOKEN") && error.source == "chat"
        }
    }

    @Test func clientsThatDoNotReadDoNotDelayAStop() async throws {
        let (server, _) = try ServerTrial.make(ServerTrial.configuration())
        let run = Task { try await server.run(into: FakeIntake.handling()) }
        let silent = try #require(RawPeer(port: try await port(of: server)))
        silent.write(ServerTrial.upgrade())
        while !Task.isCancelled, server.counts.open == 0 { await Task.yield() }
        run.cancel()
        try await run.value
        #expect(server.counts.open == 0)
    }
}
