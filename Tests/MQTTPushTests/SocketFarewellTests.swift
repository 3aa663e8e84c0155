import Foundation
import SignalboxTesting
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct SocketFarewellTests {
    @Test func aConnectionIsHeldUntilTheBrokerHasReadToItsEndAndClosed() async throws {
        let (own, broker) = try Self.makePair()
        let events = EventList<String>()
        // What lies unread when a socket is closed makes the system reset the connection.
        #expect(send(broker, "late", 4, 0) == 4)
        #expect(send(own, "acknowledged", 12, 0) == 12)
        let isHeld = EventList<Bool>()
        Thread.detachNewThread {
            let farewell = SocketFarewell(own)
            close(own)
            isHeld.append(contentsOf: [true])
            farewell?.wait(limit: .seconds(60))
            events.append(contentsOf: ["over"])
        }
        _ = await isHeld.first(1)
        var buffer = [UInt8](repeating: 0, count: 64)
        var heard = 0
        while true {
            let count = recv(broker, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            heard += count
        }
        #expect(heard == 12)
        events.append(contentsOf: ["heard all"])
        close(broker)
        #expect(await events.first(2) == ["heard all", "over"])
    }

    @Test func aBrokerThatNeverClosesIsWaitedForNoLongerThanTheLimit() throws {
        let (own, broker) = try Self.makePair()
        defer { close(broker) }
        let farewell = SocketFarewell(own)
        close(own)
        farewell?.wait(limit: .milliseconds(20))
    }

    @Test func withoutASocketThereIsNothingToWaitFor() {
        if SocketFarewell(-1) != nil { Issue.record("there is something to wait for") }
    }

    private static func makePair() throws -> (Int32, Int32) {
        var pair: [Int32] = [-1, -1]
        #if os(Linux)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        try #require(socketpair(AF_UNIX, kind, 0, &pair) == 0)
        return (pair[0], pair[1])
    }
}
