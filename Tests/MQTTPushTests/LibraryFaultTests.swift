import AdapterThreads
import Logging
import SignalboxTesting
import Testing

@testable import MQTTPush

@Suite struct LibraryFaultTests {
    private static let faults = [
        LibraryFault(in: LibraryVersion(2, 0, 0)..<LibraryVersion(2, 1, 0), "it stops"),
        LibraryFault(in: LibraryVersion(1, 9, 9)..<LibraryVersion(2, 0, 16), "it is slow"),
    ]

    @Test(
        arguments: [
            (LibraryVersion(2, 0, 11), "it stops; it is slow"), (LibraryVersion(2, 0, 16), "it stops"),
            (LibraryVersion(1, 9, 9), "it is slow"), (LibraryVersion(1, 9, 8), nil), (LibraryVersion(2, 1, 0), nil),
            (LibraryVersion(10, 0, 0), nil),
        ] as [(LibraryVersion, String?)]
    )
    func aVersionHasTheFaultsOfItsRange(version: LibraryVersion, faults: String?) {
        let expected = faults.map {
            "lib \(version) has known faults, unless the system's package fixes them: \($0). See docs/security.md"
        }
        #expect(LibraryFault.warning(of: Self.faults, in: "lib", version) == expected)
    }

    @Test func eachIsWarnedOfOnce() {
        let lines = EventList<String>()
        let logger = Logger(label: "test") { _ in RecordingLog(lines) }
        for _ in 1...3 { LibraryFault.warn(of: Self.faults, in: "once", LibraryVersion(2, 0, 1), to: logger) }
        LibraryFault.warn(of: Self.faults, in: "once", LibraryVersion(3, 0, 0), to: logger)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("once 2.0.1 has known faults") == true)
    }

    @Test func openSSLTellsItsVersionInOneNumber() {
        #expect(OpenSSLFaults.version(0x3000_0130) == LibraryVersion(3, 0, 19))
        #expect(OpenSSLFaults.version(0x3020_0010) == LibraryVersion(3, 2, 1))
        let old = LibraryFault.warning(of: OpenSSLFaults.all, in: "OpenSSL", LibraryVersion(3, 0, 6))
        #expect(old?.contains("CVE-2022-3602") == true)
        let newer = LibraryFault.warning(of: OpenSSLFaults.all, in: "OpenSSL", LibraryVersion(3, 0, 7))
        #expect(newer?.contains("CVE-2022-3602") == false && newer?.contains("CVE-2024-6119") == true)
        for fixed in [
            LibraryVersion(3, 0, 15), LibraryVersion(3, 1, 7), LibraryVersion(3, 2, 3), LibraryVersion(3, 3, 2),
        ] {
            #expect(LibraryFault.warning(of: OpenSSLFaults.all, in: "OpenSSL", fixed) == nil)
        }
    }

    @Test(
        arguments: [
            (MQTTVersion.v5, MQTTSecurity.none, true), (.v311, .none, false), (.v5, .tls(), true),
            (.v311, .tls(), true),
            (.v5, .tls(.insecure), true),
        ] as [(MQTTVersion, MQTTSecurity, Bool)]
    )
    func faultsOfLibmosquittoConcernWhoUsesWhatHasThem(version: MQTTVersion, security: MQTTSecurity, isWarned: Bool) {
        let faults = MosquittoFaults.concerning(version, security, isLocal: false)
        let warning = LibraryFault.warning(of: faults, in: "libmosquitto", LibraryVersion(2, 0, 11))
        #expect((warning != nil) == isWarned)
        #expect(LibraryFault.warning(of: faults, in: "libmosquitto", LibraryVersion(2, 1, 0)) == nil)
        #expect(MosquittoFaults.concerning(version, security, isLocal: true).isEmpty)
    }
}
