import Foundation
import SignalboxTesting
import Testing

@testable import AdapterSupport
@testable import BrokerKit

/// A relay, the client that is connected to it, and the server at the other end of the tunnel.
private struct RelayTrial {
    let relay: TunnelRelay
    let client: RawPeer
    let server: RawPeer
    let proxy: TestProxy

    init() async throws {
        let host = try #require(RawHost())
        proxy = try TestProxy(.http, forwardingTo: host.port)
        relay = try TunnelRelay(await TunnelTrial.open(.http, proxy.port))
        server = try #require(await host.accept())
        client = try #require(UnixPeer.connect(relay.path))
    }
}

/// A client of a unix socket.
private enum UnixPeer {
    static func connect(_ path: String) -> RawPeer? {
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(103)) }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(made, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let peer = RawPeer(socket: made)
        return isConnected ? peer : nil
    }
}

@Suite(.timeLimit(.minutes(10))) struct TunnelRelayTests {
    @Test func bytesPassUnchangedInBothDirections() async throws {
        let trial = try await RelayTrial()
        let block = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 257) }
        async let received = trial.server.read { $0.count >= block.count }
        async let returned = trial.client.read { $0.count >= block.count }
        await trial.client.pour(block)
        await trial.server.pour(block)
        #expect(await received == block)
        #expect(await returned == block)
        trial.client.finish()
        trial.proxy.close()
        #expect(await trial.relay.end.value() == 0)
    }

    @Test func eachDirectionEndsByItself() async throws {
        let trial = try await RelayTrial()
        trial.client.write("request")
        trial.client.finish()
        #expect(await trial.server.read { _ in false } == Array("request".utf8))
        trial.server.write("answer")
        trial.server.finish()
        #expect(await trial.client.read { _ in false } == Array("answer".utf8))
        #expect(await trial.relay.end.value() == 0)
        trial.proxy.close()
    }

    @Test func theLastBytesOfAClientThatIsGoneArrive() async throws {
        var trial: RelayTrial? = try await RelayTrial()
        let (server, relay, proxy) = try #require(trial.map { ($0.server, $0.relay, $0.proxy) })
        trial?.client.write("last")
        trial = nil
        #expect(await server.read { _ in false } == Array("last".utf8))
        #expect(await relay.end.value() == 0)
        proxy.close()
    }

    @Test func bytesThatTheReceiverDoesNotTakeAreCounted() throws {
        func pair() throws -> (RawPeer, RawPeer) {
            var sockets: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
            for socket in sockets { _ = fcntl(socket, F_SETFL, O_NONBLOCK) }
            return (RawPeer(socket: sockets[0]), RawPeer(socket: sockets[1]))
        }
        let ((client, near), (far, slow)) = (try pair(), try pair())
        while far.write([0]) {}
        var direction = RelayDirection()
        client.write("read, ")
        direction.pass(from: near.socket, to: far.socket)
        #expect(direction.isWaiting)
        client.write("and not read")
        client.finish()
        #expect(direction.discard(from: near.socket) == "read, and not read".utf8.count)
        #expect(direction.isDone && direction.discard(from: near.socket) == 0)
        withExtendedLifetime(slow) {}
    }

    @Test func aLostTunnelIsALostConnection() async throws {
        let trial = try await RelayTrial()
        trial.server.reset()
        trial.proxy.close()
        #expect(await trial.client.read { _ in false } == [])
        // The proxy resets what it gets now, and the relay passes that on.
        while trial.client.write([1]) {}
        _ = await trial.relay.end.value()
    }

    @Test func aClientThatDoesNotReadStopsTheServer() async throws {
        let trial = try await RelayTrial()
        let sent = Watched(0)
        let block = [UInt8](repeating: 7, count: 65_536)
        let done = Watched(false)
        let isEnough: @Sendable () -> Bool = {
            sent.change { count in
                count += 1
                return count > 1_600
            }
        }
        // Many times more than all buffers on the way hold together.
        trial.server.writing(block, until: isEnough) { done.change { $0 = true } }
        #expect(await trial.client.read { $0.count >= 65_536 * 1_600 }.allSatisfy { $0 == 7 })
        await done.until { $0 }
        trial.client.finish()
        trial.proxy.close()
        _ = await trial.relay.end.value()
    }

    @Test func onlyOneConnectionIsAcceptedAndThePathIsRemoved() async throws {
        let trial = try await RelayTrial()
        trial.client.write("a")
        _ = await trial.server.read { !$0.isEmpty }
        let folder = URL(fileURLWithPath: trial.relay.path).deletingLastPathComponent().path
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(UnixPeer.connect(trial.relay.path) == nil)
        trial.client.finish()
        trial.proxy.close()
        #expect(await trial.relay.end.value() == 0)
    }

    @Test func theSocketIsInAFolderOfItsUser() async throws {
        let host = try #require(RawHost())
        let proxy = try TestProxy(.http, forwardingTo: host.port)
        defer { proxy.close() }
        let relay = try TunnelRelay(await TunnelTrial.open(.http, proxy.port))
        let folder = URL(fileURLWithPath: relay.path).deletingLastPathComponent().path
        let attributes = try FileManager.default.attributesOfItem(atPath: folder)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        #expect(relay.path.utf8.count <= 103)
        relay.finish()
        #expect(await relay.end.value() == 0)
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    // Another process of the same user reaches the folder, but the relay drops its connection.
    @Test func anotherProcessIsNotAccepted() async throws {
        let host = try #require(RawHost())
        let proxy = try TestProxy(.http, forwardingTo: host.port)
        defer { proxy.close() }
        let relay = try TunnelRelay(await TunnelTrial.open(.http, proxy.port))
        let stranger = Process()
        stranger.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let script = "import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);sys.exit(len(s.recv(1)))"
        stranger.arguments = ["python3", "-c", script, relay.path]
        try stranger.run()
        let server = try #require(await host.accept())
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                stranger.waitUntilExit()
                continuation.resume()
            }
        }
        #expect(stranger.terminationStatus == 0)
        let client = try #require(UnixPeer.connect(relay.path))
        client.write("mine")
        #expect(await server.read { $0.count >= 4 } == Array("mine".utf8))
    }

    @Test func nothingIsLeftAfterManyTunnelsAndRefusals() async throws {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("relay-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            setenv("TMPDIR", folder.path, 1)
            func round(_ number: Int) async throws {
                let trial = try await RelayTrial()
                #expect(trial.relay.path.hasPrefix(folder.path))
                // Every tenth client stays, and only the owner of its relay ends it.
                trial.client.write("a")
                _ = await trial.server.read { !$0.isEmpty }
                if number % 10 == 0 { trial.relay.finish() } else { trial.client.finish() }
                trial.proxy.drop()
                _ = await trial.relay.end.value()
                trial.proxy.close()
                // One that nothing connects to, and a refusal.
                let host = try #require(RawHost())
                let proxy = try TestProxy(.http, forwardingTo: host.port)
                let unused = try TunnelRelay(await TunnelTrial.open(.http, proxy.port)).end
                _ = await unused.value()
                proxy.close()
                #expect(try await TunnelTrial.failure(.socks5, answering: [5, 0xFF]) == .loginRequired)
            }
            for number in 0..<3 { try await round(number) }
            let before = Self.counts
            for number in 0..<50 { try await round(number) }
            // A thread ends just after it has told its end. What 50 rounds leave behind is at least
            // 50, while the system's queues may have added a few threads. The suite's limit ends this loop.
            while Self.counts.descriptors >= before.descriptors + 25 || Self.counts.threads >= before.threads + 25 {
                sched_yield()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    private static var counts: (descriptors: Int, threads: Int) {
        let count = { (path: String) in (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0 }
        return (count("/proc/self/fd"), count("/proc/self/task"))
    }
}
