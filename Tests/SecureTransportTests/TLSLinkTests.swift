import AdapterSupport
import BrokerKit
import COpenSSL
import SecureTransport
import Testing

/// Reading, writing and ending a TLS connection.
@Suite(.timeLimit(.minutes(2)))
struct TLSLinkTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    /// Reads as the thread of a connection does: again while there may be more, and otherwise only if `poll` says so.
    private func readAll(_ link: TLSLink, _ count: Int, pieces: Int = 65_536) throws -> [UInt8] {
        var result: [UInt8] = []
        while result.count < count, link.mayHaveMore || link.isReadable { result += try link.read(pieces) }
        return result
    }

    @Test(arguments: versions)
    func recordsOfOneByteArrive(version: Int32) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: version)
            let bytes = pattern(2_000)
            var result: [UInt8] = []
            // A socket takes only a few hundred records of this kind at once.
            for piece in stride(from: 0, to: 2_000, by: 100) {
                #expect(pair.peer.write(Array(bytes[piece..<piece + 100]), recordsOf: 1) == 100)
                result += try readAll(pair.link, 100)
            }
            #expect(result == bytes)
            #expect(try pair.link.read().isEmpty && !pair.link.mayHaveMore)
        }
    }

    @Test func aReadTakesManyRecordsAtOnce() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority)
            _ = try pair.link.read()
            pair.peer.write(pattern(20_000), recordsOf: 200)
            #expect(try pair.link.read() == pattern(20_000))
        }
    }

    /// After a read of one record, the rest is inside OpenSSL, where `poll` does not see it.
    @Test(arguments: [200, 16_384])
    func theLinkSaysThatMoreIsInside(record: Int) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority)
            let bytes = pattern(4 * record)
            #expect(pair.peer.write(bytes, recordsOf: record) == bytes.count)
            var (result, silent): ([UInt8], Int) = ([], 0)
            while result.count < bytes.count, pair.link.mayHaveMore || pair.link.isReadable {
                if !pair.link.isReadable { silent += 1 }
                result += try pair.link.read(100)
            }
            #expect(result == bytes)
            #expect(silent > 0)
        }
    }

    @Test func longRecordsArriveThroughASmallBuffer() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority)
            let bytes = pattern(2_000_000)
            var (sent, result): (Int, [UInt8]) = (0, [])
            while result.count < bytes.count {
                sent += pair.peer.write(Array(bytes[sent...].prefix(65_536)), recordsOf: 16_384)
                result += try readAll(pair.link, 65_536, pieces: 30_000)
            }
            #expect(result == bytes)
        }
    }

    @Test func ticketsAndKeyUpdatesAreNoData() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: TLS1_3_VERSION)
            // The tickets of the handshake.
            #expect(try pair.link.read().isEmpty)
            for turn in 0..<20 {
                // A server may send each of them at any time, but OpenSSL's only one per write.
                switch turn % 3 {
                case 0: #expect(SSL_key_update(pair.peer.connection, SSL_KEY_UPDATE_REQUESTED) == 1)
                case 1: #expect(SSL_key_update(pair.peer.connection, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
                default: #expect(SSL_new_session_ticket(pair.peer.connection) == 1)
                }
                #expect(pair.peer.write(pattern(100), recordsOf: 10) == 100)
                #expect(try readAll(pair.link, 100) == pattern(100))
                #expect(try pair.link.write(pattern(50)) == 50)
                #expect(pair.peer.read() == pattern(50))
            }
        }
    }

    /// The client must answer the KeyUpdate, but cannot write.
    @Test func aKeyUpdateDuringABlockedWriteLosesNothing() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: TLS1_3_VERSION, bufferBytes: 20_000)
            let bytes = pattern(300_000)
            var sent = try pair.link.write(bytes)
            #expect(sent < bytes.count)
            #expect(SSL_key_update(pair.peer.connection, SSL_KEY_UPDATE_REQUESTED) == 1)
            #expect(pair.peer.write(pattern(100), recordsOf: 100) == 100)
            var (received, answer): ([UInt8], [UInt8]) = ([], [])
            while received.count < bytes.count || answer.count < 100 {
                answer += try pair.link.read()
                received += pair.peer.read()
                sent += try pair.link.write(bytes[sent...])
            }
            #expect(received == bytes && answer == pattern(100))
            #expect(!pair.link.waitsForWrite)
        }
    }

    /// Fills the client's direction with bytes that are no TLS, so that OpenSSL cannot write. Returns how many to drop.
    private func fill(_ link: TLSLink) -> Int {
        let piece = [UInt8](repeating: 0, count: 1_000)
        var count = 0
        while case let sent = piece.withUnsafeBytes({ StreamSocket.send($0, on: link.descriptor) }), sent > 0 {
            count += sent
        }
        return count
    }

    private func drop(_ count: Int, at peer: TLSPeer) throws {
        var buffer = [UInt8](repeating: 0, count: count)
        try #require(recv(peer.socket.number, &buffer, count, Int32(MSG_WAITALL)) == count)
    }

    /// OpenSSL answers a KeyUpdate with its next write.
    @Test func aKeyUpdateIsReadWhileNothingCanBeWritten() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: TLS1_3_VERSION, bufferBytes: 20_000)
            let count = fill(pair.link)
            #expect(SSL_key_update(pair.peer.connection, SSL_KEY_UPDATE_REQUESTED) == 1)
            #expect(pair.peer.write(pattern(100), recordsOf: 100) == 100)
            #expect(try readAll(pair.link, 100) == pattern(100))
            for _ in 0..<2 { #expect(try pair.link.write([1, 2]) == 0) }
            try drop(count, at: pair.peer)
            #expect(try pair.link.read().isEmpty && !pair.link.waitsForWrite)
            #expect(try pair.link.write([1, 2]) == 2)
            #expect(pair.peer.read() == [1, 2])
        }
    }

    @Test func aHandshakeThatMustWriteWaits() async throws {
        try await withAuthority { authority in
            let settings = TLSSettings(.trusting(authority))
            let pair = try TLSPair(TLSPeerOptions(authority), settings, bufferBytes: 20_000)
            let count = fill(pair.link)
            for _ in 0..<2 { #expect(try !pair.link.advance() && pair.link.waitsForWrite) }
            #expect(try pair.link.read().isEmpty && pair.link.write([1]) == 0)
            try drop(count, at: pair.peer)
            try pair.open()
            #expect(!pair.link.waitsForWrite && pair.link.mayHaveMore)
        }
    }

    @Test func aRenegotiationIsRefused() async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: TLS1_2_VERSION)
            #expect(SSL_renegotiate(pair.peer.connection) == 1)
            pair.peer.advance()
            #expect(try pair.link.read().isEmpty)
            // The client says so with a warning, and OpenSSL's server then ends the connection.
            #expect(pair.peer.readError() == SSL_ERROR_SSL)
            #expect(throws: LinkError.tls(.alert(TLSAlert(40)))) { try pair.link.read() }
        }
    }

    @Test(arguments: versions)
    func aBlockedWriteContinues(version: Int32) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: version, bufferBytes: 20_000)
            let bytes = pattern(1_000_000)
            var (sent, blocked): (Int, Int) = (0, 0)
            var received: [UInt8] = []
            while sent < bytes.count {
                // The bytes are at another address each time.
                let count = try pair.link.write(bytes[sent...].prefix(200_000))
                sent += count
                if count == 0 { blocked += 1 }
                if count == 0 || sent == bytes.count { received += pair.peer.read() }
            }
            #expect(received == bytes && blocked > 0)
        }
    }

    @Test(arguments: versions)
    func closeNotifyIsTheEndAfterTheLastBytes(version: Int32) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: version)
            pair.peer.write(pattern(300), recordsOf: 100)
            SSL_shutdown(pair.peer.connection)
            #expect(try pair.link.read() == pattern(300))
            // The end is not visible to `poll` any more.
            #expect(pair.link.mayHaveMore)
            for _ in 0..<2 { #expect(throws: LinkError.closed) { try pair.link.read() } }
            #expect(throws: LinkError.closed) { try pair.link.write([1]) }
        }
    }

    @Test(arguments: versions)
    func finishSendsCloseNotify(version: Int32) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: version)
            #expect(try pair.link.write([1, 2, 3]) == 3)
            pair.link.finish()
            #expect(pair.peer.read() == [1, 2, 3])
            #expect(pair.peer.readError() == SSL_ERROR_ZERO_RETURN)
            // The server may still write.
            pair.peer.write([4, 5], recordsOf: 2)
            #expect(try readAll(pair.link, 2) == [4, 5])
        }
    }

    @Test(arguments: versions)
    func finishDuringABlockedWriteChangesNothing(version: Int32) async throws {
        try await withAuthority { authority in
            let pair = try TLSPair.opened(authority, version: version, bufferBytes: 20_000)
            let bytes = pattern(100_000)
            let sent = try pair.link.write(bytes)
            #expect(sent < bytes.count)
            pair.link.finish()
            #expect(pair.peer.read() == Array(bytes[..<sent]))
            #expect(pair.peer.readError() != SSL_ERROR_ZERO_RETURN)
        }
    }

    @Test(arguments: versions)
    func aCutIsNotAClose(version: Int32) async throws {
        try await withAuthority { authority in
            for length in [0, 1, 4, 5, 6, 100, 520] {
                let relay = try CutPair(authority, version: version)
                try relay.open()
                relay.peer.write(pattern(500), recordsOf: 500)
                let record = relay.takeServerBytes()
                #expect(record.count > 520)
                relay.giveClient(record.prefix(length))
                relay.cut()
                #expect(throws: LinkError.reset("the connection ended without close_notify")) {
                    for _ in 0..<3 { _ = try relay.link.read() }
                }
            }
        }
    }

    @Test(arguments: versions)
    func aChangedRecordIsAViolation(version: Int32) async throws {
        try await withAuthority { authority in
            for position in [0, 1, 5, 20, 500] {
                let relay = try CutPair(authority, version: version)
                try relay.open()
                relay.peer.write(pattern(500), recordsOf: 500)
                var record = relay.takeServerBytes()
                record[position] ^= 0x40
                relay.giveClient(record[...])
                let error = try #require(throws: LinkError.self) { while try relay.link.read().isEmpty {} }
                guard case .tls(.violation) = error else {
                    Issue.record("\(position): \(error)")
                    continue
                }
                #expect(throws: error) { try relay.link.write([1]) }
            }
        }
    }

    @Test(arguments: versions)
    func aHandshakeCutAnywhereIsUnsecured(version: Int32) async throws {
        try await withAuthority { authority in
            var cuts = 0
            for length in stride(from: 0, to: 4_000, by: 23) {
                let relay = try CutPair(authority, version: version)
                relay.limit = length
                let error = #expect(throws: (any Error).self) {
                    try relay.open()
                    // The whole flight fits.
                    throw LinkError.closed
                }
                if error as? LinkError == .closed { break }
                // The tickets of TLS 1.3 follow the end of the client's handshake.
                switch error as? LinkError {
                case .tls(.unsecured) where !relay.isOpen: cuts += 1
                case .reset where relay.isOpen && version == TLS1_3_VERSION: break
                default: Issue.record("\(length): \(String(describing: error))")
                }
            }
            #expect(cuts > 20)
        }
    }
}
