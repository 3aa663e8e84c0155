import BrokerKit
import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct SecureServerTests {
    @Test func aServerWithAnIdentitySpeaksTLSAndTheFactsSayIt() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let intake = FakeIntake.handling()
        let identity = WebSocketIdentity(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        try await ServerTrial.with(intake: intake) {
            $0.identity = identity
        } _: { trial in
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port) { $0.security = .authority(file: authority.authorityFile) }
                one.send(#"{"action":"a","id":"1"}"#)
                await one.texts(1)
                #expect((intake.taken.first?.arrival.origin.facts as? ChatFacts)?.tls == true)
            }
            #expect(trial.log.all.contains { $0.contains("listening on wss://127.0.0.1:\(trial.port)/") })
        }
    }

    @Test func anUnusableCertificateIsTold() async throws {
        let (server, _) = try ServerTrial.make(
            ServerTrial.configuration {
                $0.identity = WebSocketIdentity(certificateFile: "/nowhere/cert.pem", keyFile: "/nowhere/key.pem")
            }
        )
        await #expect { try await server.run(into: FakeIntake.handling()) } throws: { error in
            (error as? WebSocketChatError)?.code == .notListening
        }
    }
}
