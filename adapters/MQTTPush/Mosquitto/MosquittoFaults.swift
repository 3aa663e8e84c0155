import AdapterThreads
import CMosquitto
import COpenSSL
import Logging

/// The known faults of libmosquitto that a broker, or an attacker on the network, can exploit.
enum MosquittoFaults {
    /// Returns the faults that affect a client with this MQTT version and security.
    ///
    /// - Parameter isLocal: Whether the broker is on this machine, and so as trusted as the program.
    static func concerning(_ version: MQTTVersion, _ security: MQTTSecurity, isLocal: Bool) -> [LibraryFault] {
        var faults: [LibraryFault] = []
        guard !isLocal else { return faults }
        if version == .v5, !security.isVerified {
            faults.append(
                LibraryFault(
                    in: LibraryVersion(2, 0, 0)..<LibraryVersion(2, 1, 0),
                    "the broker, or anyone on the network, can end the process with a malformed MQTT 5 packet; use mqtts:// with a "
                        + "broker that you trust, or MQTT 3.1.1"
                )
            )
        }
        if security != .none {
            faults.append(
                LibraryFault(
                    in: LibraryVersion(0, 0, 0)..<LibraryVersion(2, 0, 16),
                    "a slow TLS handshake keeps a processor busy"
                )
            )
        }
        return faults
    }

    /// Logs the faults of the loaded libraries, once per process.
    static func warn(of broker: MQTTBroker, _ version: MQTTVersion, _ security: MQTTSecurity, to logger: Logger) {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        mosquitto_lib_version(&major, &minor, &patch)
        let loaded = LibraryVersion(Int(major), Int(minor), Int(patch))
        let faults = concerning(version, security, isLocal: broker.isLocal)
        LibraryFault.warn(of: faults, in: "libmosquitto", loaded, to: logger)
        guard security != .none, !broker.isLocal else { return }
        let openSSL = OpenSSLFaults.version(UInt(OpenSSL_version_num()))
        LibraryFault.warn(of: OpenSSLFaults.all, in: "OpenSSL", openSSL, to: logger)
    }
}
