import Testing

@testable import WebSocketChat

@Suite struct OutgoingBufferTests {
    @Test(arguments: [false, true]) func aMessageIsCopiedOnceForAllWhereNothingChangesIt(keeps: Bool) throws {
        let buffer = OutgoingBuffer(keepsContent: keeps)
        let message = Array("message".utf8)
        let start = try #require(buffer.fill(message))
        start[0] = 0
        #expect(try #require(buffer.fill(message))[0] == (keeps ? 0 : UInt8(ascii: "m")))
        #expect(try #require(buffer.fill(Array("message".utf8)))[0] == UInt8(ascii: "m"))
    }

    @Test func whatIsLargeIsGivenBack() throws {
        let buffer = OutgoingBuffer(keepsContent: true)
        let message = [UInt8](repeating: 1, count: 100_000)
        try #require(buffer.fill(message))[0] = 0
        buffer.release()
        #expect(try #require(buffer.fill(message))[0] == 1)
    }
}
