import BrokerKit
import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedSecurityTests {
    private func server(_ authority: TestAuthority) async throws -> Party {
        var place = ServerPlace()
        place.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        return try await Party.server(place: place)
    }

    @Test func theNameIsResolvedAndTheCertificateIsTheHosts() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var server = try await server(authority)
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss", host: "localhost")
        {
            $0.trust = .authority(file: authority.authorityFile)
        }
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            server.say("{\"action\":\"tick\"}", on: id)
            let taken = try #require(await trial.intake.taken.first(1).first)
            let facts = try #require(taken.arrival.origin.facts as? ChatFacts)
            #expect(facts.tls)
            #expect(facts.peer == "localhost:\(server.transport.port)")
        }
        await server.stop()
    }

    @Test(arguments: [true, false])
    func whoeverIsNotTrustedIsAnErrorAndTriedAgainSlowly(wrongHost: Bool) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let server = try await server(authority)
        let times = FeedTimes()
        var surroundings = times.surroundings
        surroundings.resolve = { _ in .success(["127.0.0.1"]) }
        let host = wrongHost ? "other.example" : "localhost"
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss", host: host) {
            if wrongHost { $0.trust = .authority(file: authority.authorityFile) }
        }
        try await FeedTrial.run(configuration, surroundings) { trial in
            let line = await trial.hears("cannot be secured")
            #expect(line.hasPrefix("error source feed: the connection to wss://\(host):\(server.transport.port) "))
            #expect(line.contains("Check whose certificates are trusted"))
            #expect(await times.waits.first(1) == [.milliseconds(10)])
            #expect(trial.feed.counts.connections == 0)
        }
        await server.stop()
    }

    @Test func whoTrustsAnythingIsToldLoudly() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var server = try await server(authority)
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss") {
            $0.trust = .anything
        }
        try await FeedTrial.run(configuration) { trial in
            _ = try await server.opened()
            let line = await trial.hears("is not checked")
            #expect(line.hasPrefix("warning source feed: the certificate of wss://127.0.0.1:"))
        }
        await server.stop()
    }

    @Test func theClientShowsItsCertificate() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let identity = try await authority.makeClient()
        let asking = try await AskingServer.start(authority)
        let configuration = try WebSocketFeedConfiguration.test(asking.port, scheme: "wss", host: "localhost") {
            $0.trust = .authority(file: authority.authorityFile)
            $0.identity = identity
        }
        try await FeedTrial.run(configuration) { trial in
            #expect(await asking.read(until: ["GET /chat?token", "\r\n\r\n"]).contains("CN = client"))
            asking.write("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await trial.hears("status 418")
        }
        await asking.end()
    }
}
