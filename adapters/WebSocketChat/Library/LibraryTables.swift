import CLibwebsockets

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What libwebsockets keeps pointers to for as long as a context lives. Belongs to one thread; must outlive the context.
final class LibraryTables {
    /// The name of the table's first entry, which clients are bound to and servers use where nobody asks for another. No token,
    /// so that nobody can ask for it.
    static let ownProtocol = "no subprotocol"
    let protocols: UnsafeMutablePointer<lws_protocols>
    let policy: UnsafeMutablePointer<lws_retry_bo_t>
    /// Compression, and nothing else.
    let extensions: UnsafeMutablePointer<lws_extension>
    /// Says that there is no proxy, by its port: otherwise the library takes the one that the environment names.
    private(set) lazy var noProxy = keep("none:0")
    private var texts: [UnsafeMutablePointer<CChar>] = []

    init(receiveBytes: Int, subprotocols: [String], limits: TransportLimits) {
        // The last entry stays zero: it ends the table.
        protocols = .allocate(capacity: subprotocols.count + 2)
        protocols.initialize(repeating: lws_protocols(), count: subprotocols.count + 2)
        extensions = .allocate(capacity: 2)
        extensions.initialize(repeating: lws_extension(), count: 2)
        clws_compression(extensions, libraryExtended)
        policy = .allocate(capacity: 1)
        policy.initialize(to: lws_retry_bo_t())
        // Both stay 0 where nobody is to be pinged.
        if limits.pingAfter > 0 {
            let ping = min(limits.pingAfter, .max - 1)
            policy.pointee.secs_since_valid_ping = ping
            policy.pointee.secs_since_valid_hangup = max(limits.cutAfter, ping + 1)
        }
        for (index, name) in ([LibraryTables.ownProtocol] + subprotocols).enumerated() {
            clws_protocol(protocols + index, keep(name), libraryCalled, receiveBytes)
        }
    }

    deinit {
        for text in texts { free(text) }
        protocols.deallocate()
        extensions.deallocate()
        policy.deallocate()
    }

    /// A copy that lives as long as the tables.
    func keep(_ text: String?) -> UnsafePointer<CChar>? {
        guard let text, let copy = strdup(text) else { return nil }
        texts.append(copy)
        return UnsafePointer(copy)
    }
}
