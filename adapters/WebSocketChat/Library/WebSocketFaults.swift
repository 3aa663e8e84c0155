import AdapterThreads
import CLibwebsockets
import Logging

/// The known faults of the libraries under a WebSocket connection that a peer can exploit. Signalbox avoids those of
/// libwebsockets itself: see docs/security.md.
enum WebSocketFaults {
    /// Warns about those of the loaded OpenSSL, once per process. For connections with TLS.
    static func warn(to logger: Logger) {
        let version = OpenSSLFaults.version(UInt(OpenSSL_version_num()))
        LibraryFault.warn(of: OpenSSLFaults.all, in: "OpenSSL", version, to: logger)
    }
}
