import Synchronization

/// The listening sockets that the program which started this one has opened, such as systemd for a socket unit
/// (sd_listen_fds(3)).
///
/// While this program restarts, the other program keeps the sockets: connections wait in their queues, and none is
/// refused. Safe to use from any thread.
package final class InheritedSockets: Sendable {
    /// An address and a port on which a socket listens.
    private struct Endpoint: Hashable {
        /// 4 bytes of an IPv4 address or 16 of an IPv6 address, or none for every address of the machine.
        let address: [UInt8]
        let port: UInt16
        /// The endpoint for people.
        let text: String
    }

    private struct Entry {
        let endpoint: Endpoint
        let socket: OwnedDescriptor
        /// Whether a listener has it now.
        var isTaken = false
        /// Whether a listener has ever had it.
        var isUsed = false
    }

    /// The sockets of the process. There are none before ``adoptAnnounced()``.
    package static let shared = InheritedSockets()
    /// The maximum number of sockets.
    private static let limit = 64
    /// The number of the first descriptor (sd_listen_fds(3), `SD_LISTEN_FDS_START`).
    private static let firstDescriptor: Int32 = 3

    /// How long the clients of accepted connections have to send their first requests.
    private static let firstRequestTime = Duration.milliseconds(250)

    private let entries = Mutex<[Entry]>([])
    private let isReleased = Atomic(false)

    private init() {}

    /// Takes over the sockets that the environment announces, if it announces any to this process. Call this once, before
    /// anything listens.
    ///
    /// - Throws: ``InheritedSocketError`` if a descriptor is no TCP socket that listens.
    package func adoptAnnounced() throws(InheritedSocketError) {
        guard let process = InheritedSockets.number("LISTEN_PID"), process == Int(getpid()),
            let count = InheritedSockets.number("LISTEN_FDS"), count > 0
        else { return }
        guard count <= InheritedSockets.limit else {
            throw InheritedSocketError(
                "LISTEN_FDS is \(count); at most \(InheritedSockets.limit) sockets can be passed"
            )
        }
        try adopt(count: count)
    }

    /// Takes over the sockets with the numbers from ``firstDescriptor`` on.
    private func adopt(count: Int) throws(InheritedSocketError) {
        var adopted: [Entry] = []
        for number in InheritedSockets.firstDescriptor..<InheritedSockets.firstDescriptor + Int32(count) {
            guard let endpoint = InheritedSockets.endpoint(of: number) else {
                throw InheritedSocketError("the descriptor \(number) that was passed is no TCP socket that listens")
            }
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
            adopted.append(Entry(endpoint: endpoint, socket: OwnedDescriptor(number)))
        }
        entries.withLock { $0 = adopted }
    }

    private static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }

    // MARK: - Use

    /// Takes the socket for an address and a port until ``giveBack(_:)``, so that no other listener gets a share of its
    /// connections. Returns `nil` if none was passed, or if it is taken.
    ///
    /// - Parameter address: A numeric address, or `nil` for every address of the machine.
    package func take(_ address: String?, _ port: UInt16) -> OwnedDescriptor? {
        let bytes = address.map(InheritedSockets.bytes) ?? []
        return entries.withLock { entries in
            let index = entries.firstIndex {
                !$0.isTaken && $0.endpoint.port == port && $0.endpoint.address == bytes
            }
            guard let index else { return nil }
            entries[index].isTaken = true
            entries[index].isUsed = true
            return entries[index].socket
        }
    }

    /// Lets the next listener have the socket. Its queue stays.
    package func giveBack(_ socket: OwnedDescriptor) {
        entries.withLock { entries in
            for index in entries.indices where entries[index].socket === socket { entries[index].isTaken = false }
        }
    }

    /// The addresses of the sockets on which nothing has listened yet, such as `127.0.0.1:8080`.
    package var unused: [String] { entries.withLock { $0.filter { !$0.isUsed }.map(\.endpoint.text) } }

    /// Leaves further connections in the queues, for the next process, and waits a moment for the first requests on those
    /// that were accepted, if there are sockets.
    package func leave() async {
        guard entries.withLock({ !$0.isEmpty }) else { return }
        release()
        try? await Task.sleep(for: InheritedSockets.firstRequestTime)
    }

    /// Leaves further connections in the queues, for the next process. What was accepted is served to its end.
    package func release() { isReleased.store(true, ordering: .releasing) }

    /// Whether connections are accepted.
    package var isAccepting: Bool { !isReleased.load(ordering: .acquiring) }

    // MARK: - Addresses

    /// Returns the port on which a TCP socket listens, or `nil` if the descriptor is no such socket.
    package static func port(of number: Int32) -> UInt16? { endpoint(of: number)?.port }

    private static func endpoint(of number: Int32) -> Endpoint? {
        var listens: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0, listens != 0 else { return nil }
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &size) }
        }
        guard named == 0 else { return nil }
        let family = Int32(storage.ss_family)
        return withUnsafeBytes(of: &storage) { bytes in
            switch family {
            case AF_INET:
                let address = bytes.load(as: sockaddr_in.self)
                return endpoint(
                    withUnsafeBytes(of: address.sin_addr) { Array($0) },
                    UInt16(bigEndian: address.sin_port)
                )
            case AF_INET6:
                let address = bytes.load(as: sockaddr_in6.self)
                return endpoint(
                    withUnsafeBytes(of: address.sin6_addr) { Array($0) },
                    UInt16(bigEndian: address.sin6_port)
                )
            default: return nil
            }
        }
    }

    private static func endpoint(_ address: [UInt8], _ port: UInt16) -> Endpoint {
        let isAny = address.allSatisfy { $0 == 0 }
        let text: String
        if isAny {
            text = "*"
        } else if address.count == 4 {
            text = address.map { String($0) }.joined(separator: ".")
        } else {
            let groups = stride(from: 0, to: 16, by: 2).map { Int(address[$0]) << 8 | Int(address[$0 + 1]) }
            text = "[" + groups.map { String($0, radix: 16) }.joined(separator: ":") + "]"
        }
        return Endpoint(address: isAny ? [] : address, port: port, text: "\(text):\(port)")
    }

    /// Returns the bytes of a numeric address. None stands for every address of the machine.
    private static func bytes(of address: String) -> [UInt8] {
        var four = in_addr()
        var six = in6_addr()
        var bytes: [UInt8] = []
        if inet_pton(AF_INET, address, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, address, &six) == 1 {
            bytes = withUnsafeBytes(of: &six) { Array($0) }
        }
        return bytes.allSatisfy { $0 == 0 } ? [] : bytes
    }
}

/// A socket that was passed to the program and cannot be used.
package struct InheritedSocketError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = "\(description); correct the socket unit, or the program that passes the sockets"
    }
}
