import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct LibraryLogTests {
    @Test func whatTheLibrarySaysOfErrorsReachesTheListener() async throws {
        let (lines, told) = AsyncStream<LibraryLog.Line>.makeStream()
        LibraryLog.listen { told.yield($0) }
        defer { LibraryLog.listen(nil) }
        let server = try await Party.server()
        var place = ServerPlace()
        place.port = server.transport.port
        await #expect(throws: TransportFault.self) { _ = try await Party.server(place: place) }
        for await line in lines where line.text.contains(String(place.port)) {
            #expect(line.text.utf8.count <= LibraryLog.limit)
            break
        }
        await server.stop()
    }
}
