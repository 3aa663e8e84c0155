import AdapterSupport
import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite struct LibraryVulnerabilityTests {
    private static let vulnerabilities = [
        LibraryVulnerability(in: LibraryVersion(2, 0, 0)..<LibraryVersion(2, 1, 0), "it stops"),
        LibraryVulnerability(in: LibraryVersion(1, 9, 9)..<LibraryVersion(2, 0, 16), "it is slow"),
    ]

    @Test(
        arguments: [
            (LibraryVersion(2, 0, 11), "it stops; it is slow"), (LibraryVersion(2, 0, 16), "it stops"),
            (LibraryVersion(1, 9, 9), "it is slow"), (LibraryVersion(1, 9, 8), nil), (LibraryVersion(2, 1, 0), nil),
            (LibraryVersion(10, 0, 0), nil),
        ] as [(LibraryVersion, String?)]
    )
    func aVersionHasTheVulnerabilitiesOfItsRange(version: LibraryVersion, vulnerabilities: String?) {
        let expected = vulnerabilities.map {
            "lib \(version) has known vulnerabilities, unless the system's package fixes them: \($0). See docs/security.md"
        }
        #expect(LibraryVulnerability.warning(of: Self.vulnerabilities, in: "lib", version) == expected)
    }

    @Test func eachWarningIsLoggedOnce() {
        let lines = EventList<String>()
        let logger = Logger(label: "test") { _ in RecordingLog(lines) }
        for _ in 1...3 {
            LibraryVulnerability.warn(of: Self.vulnerabilities, in: "once", LibraryVersion(2, 0, 1), to: logger)
        }
        LibraryVulnerability.warn(of: Self.vulnerabilities, in: "once", LibraryVersion(3, 0, 0), to: logger)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("once 2.0.1 has known vulnerabilities") == true)
    }

    @Test func openSSLVulnerabilitiesMatchTheDecodedVersion() {
        #expect(OpenSSLVulnerabilities.version(0x3000_0130) == LibraryVersion(3, 0, 19))
        #expect(OpenSSLVulnerabilities.version(0x3020_0010) == LibraryVersion(3, 2, 1))
        let old = LibraryVulnerability.warning(of: OpenSSLVulnerabilities.all, in: "OpenSSL", LibraryVersion(3, 0, 6))
        #expect(old?.contains("CVE-2022-3602") == true)
        let newer = LibraryVulnerability.warning(of: OpenSSLVulnerabilities.all, in: "OpenSSL", LibraryVersion(3, 0, 7))
        #expect(newer?.contains("CVE-2022-3602") == false && newer?.contains("CVE-2024-6119") == true)
        for fixed in [
            LibraryVersion(3, 0, 15), LibraryVersion(3, 1, 7), LibraryVersion(3, 2, 3), LibraryVersion(3, 3, 2),
        ] {
            #expect(LibraryVulnerability.warning(of: OpenSSLVulnerabilities.all, in: "OpenSSL", fixed) == nil)
        }
    }
}

@Suite(.timeLimit(.minutes(10)))
struct LingeringCloseTests {
    @Test func theConnectionStaysOpenUntilTheBrokerCloses() async throws {
        let (own, broker) = try Self.makePair()
        let events = EventList<String>()
        // Closing a socket with unread data makes the system reset the connection.
        #expect(send(broker, "late", 4, 0) == 4)
        #expect(send(own, "acknowledged", 12, 0) == 12)
        let isDuplicated = EventList<Bool>()
        Thread.detachNewThread {
            let lingeringClose = LingeringClose(own)
            close(own)
            isDuplicated.append(contentsOf: [true])
            lingeringClose?.wait(limit: .seconds(60))
            events.append(contentsOf: ["over"])
        }
        _ = await isDuplicated.first(1)
        var buffer = [UInt8](repeating: 0, count: 64)
        var receivedBytes = 0
        while true {
            let count = recv(broker, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            receivedBytes += count
        }
        #expect(receivedBytes == 12)
        events.append(contentsOf: ["read all"])
        close(broker)
        #expect(await events.first(2) == ["read all", "over"])
    }

    @Test func theWaitForABrokerThatNeverClosesIsLimited() throws {
        let (own, broker) = try Self.makePair()
        defer { close(broker) }
        let lingeringClose = LingeringClose(own)
        close(own)
        lingeringClose?.wait(limit: .milliseconds(20))
    }

    @Test func withoutASocketThereIsNoLingeringClose() {
        if LingeringClose(-1) != nil { Issue.record("a linger without a socket") }
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
