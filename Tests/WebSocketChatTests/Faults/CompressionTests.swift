import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct CompressionTests {
    /// Text that compresses well and is different in each place.
    private static func text(_ seed: Int, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var number = seed
        while bytes.count < count {
            bytes += Array("{\"n\":\(number),\"text\":\"the quick brown fox\"},".utf8)
            number += 1
        }
        return Array(bytes.prefix(count))
    }

    @Test(arguments: [1, 4]) func compressedMessagesOfSeveralConnectionsAreKeptApart(connections: Int) async throws {
        var place = ServerPlace()
        place.compresses = true
        var server = try await Party.server(place: place, limits: .conformance)
        var client = try await Party.client(limits: .conformance)
        var ids: [ConnectionID] = []
        var there: [ConnectionID] = []
        for _ in 0..<connections {
            ids.append(try await client.open(server.transport.port) { $0.offersCompression = true })
            there.append(try await server.opened().0)
        }
        let messages = 60
        for number in 0..<messages {
            for (index, id) in ids.enumerated() {
                let text = Self.text(index * 1_000_000 + number, count: 40_000)
                #expect(client.transport.send(text, .text, on: id) == .accepted)
            }
        }
        var next = [ConnectionID: Int]()
        for _ in 0..<(messages * connections) {
            let event = await server.next()
            guard case .message(let id, let bytes, _) = event else { throw UnexpectedEvent(event) }
            let index = try #require(there.firstIndex(of: id))
            #expect(bytes == Self.text(index * 1_000_000 + next[id, default: 0], count: 40_000))
            next[id, default: 0] += 1
        }
        await client.stop()
        await server.stop()
    }

    /// What is left to inflate when the last compressed byte was read is of any size.
    @Test(arguments: [900..<1_400, 3_000..<3_500, 4_000..<4_400]) func messagesOfEverySizeAreWhole(
        sizes: Range<Int>
    ) async throws {
        var place = ServerPlace()
        place.compresses = true
        var server = try await Party.server(.init(echoes: true), place: place, limits: .conformance)
        var client = try await Party.client(limits: .conformance)
        let id = try await client.open(server.transport.port) { $0.offersCompression = true }
        _ = try await server.opened()
        for size in sizes {
            let text = [UInt8](repeating: 0x61, count: size)
            #expect(client.transport.send(text, .text, on: id) == .accepted)
            #expect(try await server.message().count == size)
            #expect(try await client.message() == text)
        }
        await client.stop()
        await server.stop()
    }
}
