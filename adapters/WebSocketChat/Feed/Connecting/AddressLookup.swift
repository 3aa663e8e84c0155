import AdapterThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Turns hosts into numeric addresses.
enum AddressLookup {
    /// How many addresses of one host are tried at most.
    static let limit = 16

    /// The addresses in the system's order of preference (RFC 6724): mostly IPv6 before IPv4. Asks the name server, and so
    /// may last many seconds.
    static func addresses(of host: String) -> Result<[String], FeedEnd> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(.notResolved(String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var entry = list
        while let current = entry, found.count < limit {
            entry = current.pointee.ai_next
            guard let text = numericText(current.pointee), !found.contains(text) else { continue }
            found.append(text)
        }
        return found.isEmpty ? .failure(.notResolved("it has no address")) : .success(found)
    }

    private static func numericText(_ entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let flags = NI_NUMERICHOST
        guard
            getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, flags) == 0
        else { return nil }
        let shown = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Not those of one link alone, which have the link's name behind them.
        return NumericAddress(shown) == nil ? nil : shown
    }
}
