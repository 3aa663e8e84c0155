import Foundation

/// TCP ports of the loopback interface.
enum LoopbackPort {
    /// A port that was free a moment ago.
    static func free() throws -> Int {
        let socket = try makeSocket()
        defer { close(socket) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                bind(socket, general, length) == 0 && getsockname(socket, general, &length) == 0
            }
        }
        guard bound else { throw BrokerKitError("no loopback port is free (errno \(errno))") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Whether somebody listens now.
    static func isOpen(_ port: Int) throws -> Bool {
        let socket = try makeSocket()
        defer { close(socket) }
        var address = loopback(port: UInt16(port))
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func makeSocket() throws -> Int32 {
        #if os(Linux)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let made = socket(AF_INET, kind, 0)
        guard made >= 0 else { throw BrokerKitError("no socket is left (errno \(errno))") }
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        return made
    }

    static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
