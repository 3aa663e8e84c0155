import AdapterSupport
import Foundation
import Testing

@testable import BrokerKit

/// OpenSSL's own client, through which a raw peer writes and reads over TLS. Verifies no certificate.
final class OpenSSLClient: Sendable {
    let peer: RawPeer
    private let program: SpawnedProcess

    init(port: UInt16) throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, StreamSocket.type, 0, &ends) == 0)
        peer = RawPeer(socket: ends[0])
        defer { close(ends[1]) }
        // Quiet, because a line that begins with Q or R would otherwise be a command.
        program = try SpawnedProcess(
            "/usr/bin/env",
            ["openssl", "s_client", "-quiet", "-connect", "127.0.0.1:\(port)", "-servername", "localhost"],
            SpawnedProcess.Streams(input: ends[1], output: ends[1])
        )
    }

    // A test that throws may leave it running.
    deinit {
        program.signal(SIGKILL)
    }
}
