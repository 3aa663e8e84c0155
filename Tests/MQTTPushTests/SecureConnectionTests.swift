import AdapterSupport
import BrokerKit
import Foundation
import MQTTPush
import SignalboxTesting
import Testing

/// What TLS changes about reading and waiting.
@Suite(.timeLimit(.minutes(10)))
struct SecureConnectionTests {
    /// Bytes inside OpenSSL do not make the socket readable, so a batch that leaves some is followed by a read.
    @Test func messagesOfOneTLSRecordArriveBeyondTheReceiveMaximum() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let (socket, port) = try LoopbackPort.listening()
        close(socket)
        let (toClient, fromClient) = (Pipe(), Pipe())
        let files = ["-cert", authority.certificateFile, "-key", authority.keyFile]
        let server = try RunningProgram(
            "openssl",
            ["s_server", "-quiet", "-accept", "127.0.0.1:\(port)"] + files,
            input: toClient,
            output: fromClient,
            errors: nil
        )
        var configuration = try MQTTPushConfiguration.test(port: Int(port), [try MQTTTopic("push/{action}")])
        configuration.broker = try MQTTBroker(host: "localhost", port: Int(port), usesTLS: true)
        configuration.security = .tls(.authority(file: authority.authorityFile))
        try await PushTrial.run(configuration, subscribed: false) { trial in
            // More messages than the receive maximum, so some stay unread while no bytes arrive.
            let messages = (1...600).flatMap { FakeAnswers.message("{}", to: "push/log", qos: 1, packet: UInt16($0)) }
            for answer in [FakeAnswers.connected, FakeAnswers.granted + messages] {
                let hasRequest = try OwnedThread.promise { !fromClient.fileHandleForReading.availableData.isEmpty }
                #expect(await hasRequest.value())
                toClient.fileHandleForWriting.write(Data(answer))
            }
            #expect(await trial.arrivals(600).count == 600)
        }
        server.signal(SIGKILL)
        await server.status()
    }

    /// The handshake needs several turns, so the time limit for CONNACK is checked before it arrives.
    @Test func theConnectTimeoutExcludesTheTimeForReadingFiles() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let slowFile = authority.folder.appendingPathComponent("slow.pem").path
        #expect(mkfifo(slowFile, 0o600) == 0)
        let certificate = try Data(contentsOf: URL(fileURLWithPath: authority.authorityFile))
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            var configuration = try MQTTPushConfiguration.secure(broker, .tls(.authority(file: slowFile)))
            configuration.connectTimeout = .seconds(2)
            let written = try OwnedThread.promise {
                guard let handle = FileHandle(forWritingAtPath: slowFile) else { return false }
                Thread.sleep(forTimeInterval: 2.5)
                handle.write(certificate)
                return (try? handle.close()) != nil
            }
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let line = await trial.waitForLog("broker localhost")
                #expect(line.contains("connected to broker localhost"), "\(line)")
            }
            #expect(await written.value())
        }
    }
}
