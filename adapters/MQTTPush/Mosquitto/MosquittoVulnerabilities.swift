import AdapterSupport
import CMosquitto
import COpenSSL
import Logging

/// The known vulnerabilities in libmosquitto that can be exploited by a broker or by an attacker on the network.
enum MosquittoVulnerabilities {
    private static let malformedPacket = LibraryVulnerability(
        in: LibraryVersion(2, 0, 0)..<LibraryVersion(2, 1, 0),
        "the broker, or anyone on the network, can end the process with a malformed MQTT 5 packet; use mqtts:// with a "
            + "broker that you trust, or MQTT 3.1.1"
    )
    private static let slowHandshake = LibraryVulnerability(
        in: LibraryVersion(0, 0, 0)..<LibraryVersion(2, 0, 16),
        "a slow TLS handshake keeps a processor busy"
    )

    /// Returns the vulnerabilities that affect a client with this MQTT version and security.
    ///
    /// - Parameter isLocal: Whether the broker is on this machine, which makes it as trusted as the program.
    static func affecting(_ version: MQTTVersion, _ security: MQTTSecurity, isLocal: Bool) -> [LibraryVulnerability] {
        guard !isLocal else { return [] }
        let ofPackets = version == .v5 && !security.isVerified ? [malformedPacket] : []
        return ofPackets + (security == .none ? [] : [slowHandshake])
    }

    /// Logs, once per process, a warning about the vulnerabilities in the loaded libraries.
    static func warn(of settings: some BrokerSettings, to logger: Logger) {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        mosquitto_lib_version(&major, &minor, &patch)
        let loaded = LibraryVersion(Int(major), Int(minor), Int(patch))
        let isLocal = settings.unixSocket != nil || settings.broker.isLocal
        let vulnerabilities = affecting(settings.version, settings.security, isLocal: isLocal)
        LibraryVulnerability.warn(of: vulnerabilities, in: "libmosquitto", loaded, to: logger)
        guard settings.security != .none, !isLocal else { return }
        let openSSL = OpenSSLVulnerabilities.version(UInt(OpenSSL_version_num()))
        LibraryVulnerability.warn(of: OpenSSLVulnerabilities.all, in: "OpenSSL", openSSL, to: logger)
    }
}
