import AdapterThreads
import CLibwebsockets

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension LibraryLoop {
    func connect(_ id: ConnectionID, _ target: ClientTarget) {
        let connection = LibraryConnection(id, target: target)
        connections[id] = connection
        if let fault = target.fault { return finish(connection, .unusable(fault)) }
        guard NumericAddress(target.address) != nil else {
            return finish(connection, .notResolved("\(target.address) is no numeric address"))
        }
        let handle: OpaquePointer?
        do throws(NoVirtualHost) {
            handle = begin(id, target, virtualHost: try virtualHost(for: TrustKey(target)))
        } catch {
            return finish(connection, error.end)
        }
        // The end may have been told inside the call.
        guard connections[id] === connection else { return }
        guard let handle else {
            return finish(connection, .notConnected("no connection to \(target.address) could be begun"))
        }
        connection.handle = handle
        if let cut = connection.cut {
            connection.cut = nil
            self.cut(connection, cut.code, reason: cut.reason, end: cut.end)
        }
    }

    private func begin(_ id: ConnectionID, _ target: ClientTarget, virtualHost: OpaquePointer) -> OpaquePointer? {
        // The library copies the texts.
        let texts = [
            target.address, target.path, target.host, target.origin, target.subprotocols.joined(separator: ", "),
            LibraryTables.ownProtocol, "http/1.1",
        ].map { text in text.flatMap { strdup($0) } }
        defer { for text in texts { free(text) } }
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = virtualHost
        info.address = UnsafePointer(texts[0])
        info.port = Int32(target.port)
        info.path = UnsafePointer(texts[1])
        info.host = UnsafePointer(texts[2])
        info.origin = UnsafePointer(texts[3])
        info.protocol = target.subprotocols.isEmpty ? nil : UnsafePointer(texts[4])
        info.local_protocol_name = UnsafePointer(texts[5])
        info.ietf_version_or_minus_one = -1
        info.opaque_user_data = UnsafeMutableRawPointer(bitPattern: UInt(id.number))
        // That of the virtual host is not looked at.
        info.retry_and_idle_policy = UnsafePointer(tables.policy)
        // A redirect would lead to a host that nobody chose.
        info.ssl_connection = Int32(LCCSCF_HTTP_NO_FOLLOW_REDIRECT.rawValue)
        if target.security != .none {
            info.ssl_connection |= Int32(LCCSCF_USE_SSL.rawValue)
            info.alpn = UnsafePointer(texts[6])
        }
        if target.security == .anything {
            info.ssl_connection |= Int32(LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK.rawValue)
        }
        return lws_client_connect_via_info(&info)
    }
}
