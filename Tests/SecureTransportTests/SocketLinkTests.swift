import AdapterSupport
import SecureTransport
import Testing

@Suite struct SocketLinkTests {
    private func pair(bufferBytes: Int32? = nil) throws -> (client: SocketLink, server: SocketLink) {
        let sockets = try socketPair(bufferBytes: bufferBytes)
        return (SocketLink(sockets.client), SocketLink(sockets.server))
    }

    @Test func aBlockedWriteContinues() throws {
        let (client, server) = try pair(bufferBytes: 10_000)
        let bytes = pattern(500_000)
        var (sent, blocked): (Int, Int) = (0, 0)
        var received: [UInt8] = []
        while received.count < bytes.count {
            let count = try client.write(bytes[sent...])
            sent += count
            if sent < bytes.count { blocked += 1 }
            received += try server.read(30_000)
        }
        #expect(received == bytes && sent == bytes.count)
        #expect(try client.write([]) == 0)
        #expect(blocked > 0)
    }

    @Test func aReadThatFillsItsBufferMayHaveMore() throws {
        let (client, server) = try pair()
        #expect(try client.read().isEmpty && !client.mayHaveMore)
        _ = try server.write(pattern(10))
        #expect(try client.read(0).isEmpty)
        #expect(try client.read(6) == Array(pattern(10)[..<6]) && client.mayHaveMore)
        #expect(try client.read(6) == Array(pattern(10)[6...]) && !client.mayHaveMore)
    }

    @Test func theFirstBytesComeFirst() throws {
        let sockets = try socketPair()
        let client = SocketLink(sockets.client, first: [1, 2, 3])
        _ = try SocketLink(sockets.server).write([4])
        #expect(client.mayHaveMore)
        #expect(try client.read(2) == [1, 2] && client.mayHaveMore)
        #expect(try client.read(2) == [3] && client.mayHaveMore)
        #expect(try client.read(2) == [4] && !client.mayHaveMore)
    }

    @Test func bothHalvesCloseAlone() throws {
        let (client, server) = try pair()
        client.finish()
        #expect(throws: LinkError.closed) { try server.read() }
        #expect(throws: LinkError.closed) { try server.read() }
        let again = try pair()
        again.client.finish()
        _ = try again.server.write([9])
        #expect(try again.client.read() == [9])
    }

    @Test func theLastBytesOfTheServerCanBeReadAfterAFailedWrite() throws {
        let sockets = try socketPair()
        let client = SocketLink(sockets.client)
        _ = try SocketLink(sockets.server).write([0xE0, 0])
        shutdown(sockets.server.number, Int32(SHUT_RDWR))
        let error = try #require(throws: LinkError.self) { try client.write([1]) }
        guard case .reset(let reason) = error else { throw error }
        #expect(!reason.isEmpty)
        #expect(try client.read() == [0xE0, 0])
        #expect(throws: LinkError.closed) { try client.read() }
    }

    @Test func aResetIsNoClose() throws {
        let listener = try Listener()
        let client = try listener.connectedClient()
        // A socket that is closed with this option sends RST instead of FIN (socket(7), `SO_LINGER`).
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout.size(ofValue: atOnce))
        do {
            let server = try listener.accept()
            try #require(setsockopt(server.number, SOL_SOCKET, SO_LINGER, &atOnce, length) == 0)
            withExtendedLifetime(server) {}
        }
        _ = SocketWait(socket: client.number, for: .readable, wake: -1, limit: .seconds(5))
        let link = SocketLink(client)
        for _ in 0..<2 {
            #expect(throws: LinkError.reset(StreamSocket.errorText(ECONNRESET))) { try link.read() }
        }
    }

    #if os(Linux)
    @Test func unacknowledgedBytesAreLimited() throws {
        let listener = try Listener()
        let link = SocketLink(try listener.connectedClient())
        link.limitUnacknowledged(to: .seconds(17))
        var (value, length): (UInt32, socklen_t) = (0, 4)
        getsockopt(link.descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &value, &length)
        #expect(value == 17_000)
    }
    #endif
}
