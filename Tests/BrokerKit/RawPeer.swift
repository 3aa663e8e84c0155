import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A plain socket to a local server, for bytes that no correct client sends.
final class RawPeer: Sendable {
    /// The maximum wait for data in seconds, after which a test fails instead of hanging.
    static let patience = 60
    let socket: Int32

    /// Wraps an open connection, which this object closes.
    init(socket: Int32) {
        self.socket = socket
    }

    /// - Parameters:
    ///   - address: The last number of the loopback address to connect from, such as 1; the system's choice if `nil`.
    ///   - receiveBytes: The approximate size of the system's receive buffer in bytes; its default if `nil`.
    init?(port: UInt16, from address: UInt8? = nil, receiveBytes: Int32? = nil) {
        guard let socket = try? LoopbackPort.makeSocket() else { return nil }
        self.socket = socket
        if let address, !LoopbackPort.binds(socket, toHost: address) { return nil }
        if var receiveBytes {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<Int32>.size))
        }
        guard LoopbackPort.connects(socket, to: port) else { return nil }
    }

    deinit {
        close(socket)
    }

    /// - Returns: `false` if the other side has closed the connection.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        RawWrite.all(bytes, to: socket)
    }

    func write(_ text: String) {
        write(Array(text.utf8))
    }

    /// Writes on a separate thread, because a write blocks while the other side does not read.
    func pour(_ bytes: [UInt8], times: Int = 1) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                for _ in 0..<times { write(bytes) }
                continuation.resume()
            }
        }
    }

    /// Writes each byte in a separate segment.
    func trickle(_ bytes: [UInt8]) {
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        for byte in bytes { write([byte]) }
    }

    /// Writes a byte every 100 ms until the other side closes the connection.
    ///
    /// - Returns: Whether the other side closed before all bytes were written.
    func drip(_ bytes: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                for byte in bytes {
                    write([byte])
                    var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                    if poll(&entry, 1, 100) > 0 {
                        continuation.resume(returning: true)
                        return
                    }
                }
                continuation.resume(returning: false)
            }
        }
    }

    /// Closes the connection with a reset.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        // `deinit` closes the descriptor, when no other thread can use it.
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNSPEC)
        connect(socket, &address, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Ends the sending direction; reading continues.
    func finish() {
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Sends a valid upgrade request, with some headers replaced (`nil` omits one) or added.
    func upgrade(_ path: String = "/chat", _ changes: [String: String?] = [:], adding more: [String] = []) {
        write(RawPeer.request(path, changes, adding: more))
    }

    /// Sends an upgrade request and waits for the response: a server need not keep data sent before it (RFC 6455, 4.1).
    func open(adding more: [String] = []) async {
        upgrade(adding: more)
        _ = await read { $0.suffix(4) == Array("\r\n\r\n".utf8)[...] }
    }

    static func request(
        _ path: String = "/chat",
        _ changes: [String: String?] = [:],
        adding more: [String] = []
    ) -> [UInt8] {
        let usual = [
            ("Host", "localhost"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
        ]
        let lines = usual.compactMap { name, value in
            changes.index(forKey: name) == nil ? "\(name): \(value)" : (changes[name] ?? nil).map { "\(name): \($0)" }
        }
        return Array(("GET \(path) HTTP/1.1\r\n" + (lines + more).joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Returns a frame; a client's frame has the mask 0.
    static func frame(_ head: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
        let mask: UInt8 = isMasked ? 0x80 : 0
        let count = payload.count
        let length: [UInt8] =
            switch count {
            case ..<126: [mask | UInt8(count)]
            case ..<65_536: [mask | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [mask | 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
            }
        return [head] + length + (isMasked ? [0, 0, 0, 0] : []) + payload
    }

    func frame(_ head: UInt8, _ payload: [UInt8]) {
        write(RawPeer.frame(head, payload))
    }

    /// Reads until `isEnough` returns true, the other side closes, or no data arrives for ``patience`` seconds.
    func read(until isEnough: @escaping @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var patience = timeval(tv_sec: RawPeer.patience, tv_usec: 0)
                setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
                var all: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while !isEnough(all) {
                    let count = recv(socket, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    all += buffer.prefix(count)
                }
                continuation.resume(returning: all)
            }
        }
    }
}

/// No data arrived within the wait limit.
struct Silence: Error {}

extension RawPeer {
    /// Sends each write immediately, so that single bytes are separate segments.
    func hurry() {
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Returns the next data; empty if the other side has closed or reset the connection.
    func chunk() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                var limit = timeval(tv_sec: RawPeer.patience, tv_usec: 0)
                setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(socket, &buffer, buffer.count, 0)
                if count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) {
                    continuation.resume(throwing: Silence())
                } else {
                    continuation.resume(returning: Array(buffer.prefix(max(0, count))))
                }
            }
        }
    }
}

extension RawPeer {
    /// Writes the block repeatedly on a thread that may block, until `isEnough` returns true or the other side closes the
    /// connection.
    func writing(
        _ block: [UInt8],
        until isEnough: @escaping @Sendable () -> Bool,
        _ done: @escaping @Sendable () -> Void
    ) {
        Thread.detachNewThread { [self] in
            while !isEnough(), write(block) {}
            done()
        }
    }
}

/// A plain listening socket for local clients, for bytes that no correct server sends.
final class RawHost: Sendable {
    let port: UInt16
    private let socket: Int32

    init?() {
        guard let (socket, port) = try? LoopbackPort.listening() else { return nil }
        self.socket = socket
        self.port = port
    }

    deinit {
        close(socket)
    }

    /// Accepts the next connection; returns `nil` if none arrives within the wait limit.
    func accept() async -> RawPeer? {
        // The thread sanitizer does not recognise that a continuation transfers an object, so the peer is created here.
        let connection = await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                let isThere = poll(&entry, 1, Int32(RawPeer.patience * 1_000)) > 0
                continuation.resume(returning: isThere ? LoopbackPort.accept(on: socket) : -1)
            }
        }
        return connection < 0 ? nil : RawPeer(socket: connection)
    }
}

extension RawPeer {
    /// Reads a client's request.
    ///
    /// - Returns: The response to the request.
    func upgradeAnswer(adding more: [String] = []) async -> [UInt8] {
        let request = String(decoding: await readHead(), as: UTF8.self)
        return Array(UpgradeAnswer.text(to: request, adding: more).utf8)
    }

    /// Reads until the empty line after the head of a request or response.
    func readHead() async -> [UInt8] {
        let end = Array("\r\n\r\n".utf8)
        return await read { $0.suffix(4) == end[...] }
    }

    func answerUpgrade(adding more: [String] = []) async {
        write(await upgradeAnswer(adding: more))
    }
}

/// A server's valid response to an upgrade request (RFC 6455, 4.2.2).
enum UpgradeAnswer {
    /// - Parameter more: Additional header lines.
    static func text(to request: String, adding more: [String] = []) -> String {
        let head = "sec-websocket-key:"
        let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(head) } ?? ""
        let key = line.dropFirst(head.count).trimmingCharacters(in: .whitespaces)
        let accept = Data(SecureHash.of(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
        let lines = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(accept.base64EncodedString())",
        ]
        return (lines + more + ["", ""]).joined(separator: "\r\n")
    }
}

/// SHA-1 (RFC 3174), which the response to an upgrade request requires.
enum SecureHash {
    static func of(_ bytes: [UInt8]) -> [UInt8] {
        var message = bytes + [0x80]
        while message.count % 64 != 56 { message.append(0) }
        message += (0..<8).map { UInt8(truncatingIfNeeded: (bytes.count * 8) >> (56 - 8 * $0)) }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: message.count, by: 64) { take(message[start..<start + 64], &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    private static func take(_ block: ArraySlice<UInt8>, _ state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words.append(turned(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = turned(a, by: 5) &+ mixed &+ e &+ constant &+ words[index]
            (e, d, c, b, a) = (d, c, turned(b, by: 30), a, next)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func turned(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
