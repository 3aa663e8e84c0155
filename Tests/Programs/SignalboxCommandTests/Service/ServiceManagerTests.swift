import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// `signalbox run` as a service of systemd: sd_notify(3) and sd_listen_fds(3).
@Suite(.timeLimit(.minutes(10))) struct ServiceManagerTests {
    private static func configuration(port: UInt16) -> String {
        """
        sources:
          orders: { http: { port: \(port), anyone: true } }
        plugins:
          - { action: order, use: reply, value: 1, from: orders }
        """
    }

    @Test func theServiceManagerHearsHowTheProgramIsDoing() async throws {
        try await ServiceTrial.with(Self.configuration) { trial in
            let process = try trial.start()
            try await trial.hears("READY=1")
            // It listens when it is ready.
            #expect(try #require(await trial.post()).hasPrefix("HTTP/1.1 200 OK"))
            try await trial.hears("STATUS=ready")
            for _ in 0..<2 { try await trial.hears("WATCHDOG=1") }
            process.signal(SIGHUP)
            try await trial.hears("RELOADING=1\nMONOTONIC_USEC=")
            try await trial.hears("READY=1")
            process.signal(SIGTERM)
            try await trial.hears("STOPPING=1")
            #expect(await process.status() == CommandStatus.done.rawValue)
            #expect(trial.states == ["READY", "RELOADING", "READY", "STOPPING"])
        }
    }

    /// A reload with an error is over too: the old configuration is in effect.
    @Test func aRefusedReloadEnds() async throws {
        try await ServiceTrial.with(Self.configuration) { trial in
            let process = try trial.start()
            try await trial.hears("READY=1")
            try trial.write("sources: 1")
            process.signal(SIGHUP)
            try await trial.hears("READY=1")
            #expect(try #require(await trial.post()).hasPrefix("HTTP/1.1 200 OK"))
        }
    }

    /// The listener that a reload starts has the socket of the one that it replaces.
    @Test func aReloadKeepsTheSocket() async throws {
        try await ServiceTrial.with(Self.configuration) { trial in
            let process = try trial.start()
            _ = try #require(await process.errors.line(with: "listening on"))
            let changed = Self.configuration(port: trial.port).replacing(
                "anyone: true",
                with: "anyone: true, waiting: 7"
            )
            try trial.write(changed)
            process.signal(SIGHUP)
            _ = try #require(await process.errors.line(with: "listening on"))
            #expect(try #require(await trial.post()).hasPrefix("HTTP/1.1 200 OK"))
        }
    }

    /// Two listeners would each get some of the connections.
    @Test func aSocketHasOneListener() async throws {
        let sources = { (port: UInt16) in
            """
            sources:
              orders: { http: { port: \(port), anyone: true } }
              returns: { http: { port: \(port), anyone: true } }
            plugins:
              - { action: order, use: reply, value: 1, from: [orders, returns] }
            """
        }
        try await ServiceTrial.with(sources) { trial in
            let process = try trial.start()
            _ = try #require(await process.errors.line(with: "the port is in use"))
        }
    }

    /// Clients that connect while nobody accepts wait in the socket's queue.
    @Test func noConnectionIsRefusedInTwentyRestarts() async throws {
        try await ServiceTrial.with(Self.configuration) { trial in
            let (answers, answered) = AsyncStream.makeStream(of: String.self)
            async let load: Void = trial.load { answered.yield($0) }
            var other: [String] = []
            var process = try trial.start()
            for restart in 0...20 {
                try await trial.hears("READY=1")
                var handled = 0
                for await answer in answers {
                    if answer == "HTTP/1.1 200 OK" { handled += 1 } else { other.append(answer) }
                    if handled == 20 { break }
                }
                guard restart < 20 else { break }
                process.signal(SIGTERM)
                #expect(await process.status() == CommandStatus.done.rawValue)
                process = try trial.start()
            }
            trial.endLoad()
            await load
            answered.finish()
            for await answer in answers where answer != "HTTP/1.1 200 OK" { other.append(answer) }
            #expect(other.isEmpty, "\(Set(other))")
        }
    }

    @Test func aSocketWithoutListenerIsReported() async throws {
        let other = try LoopbackPort.listening()
        defer { close(other.socket) }
        try await ServiceTrial.with({ _ in Self.configuration(port: 0) }) { trial in
            let process = try trial.start(passed: [other.socket])
            let line = try #require(
                await process.errors.line(with: "a socket that was passed to the program is not used")
            )
            #expect(line.contains("127.0.0.1:\(other.port)"))
        }
    }

    @Test func aDescriptorThatIsNoSocketEndsTheStart() async throws {
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        try await ServiceTrial.with(Self.configuration) { trial in
            let process = try trial.start(passed: [file])
            let line = try #require(await process.errors.line(with: "descriptor 3"))
            #expect(line.contains("no TCP socket that listens") && line.contains("socket unit"))
            #expect(await process.status() == CommandStatus.cannotListen.rawValue)
            #expect(trial.states.isEmpty)
        }
    }
}
