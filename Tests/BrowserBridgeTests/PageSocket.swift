import BrokerKit
import Foundation
import SignalboxTesting
import Synchronization

/// A plain socket that sends to the engine what a page's script would send, or what none would.
final class PageSocket: Sendable {
    /// The end of the connection.
    struct Closed: Error, Equatable {
        /// The code of the close frame, if there was one.
        let code: Int?
    }

    private let socket: Int32
    private let texts = Watched<(texts: [String], closed: Closed?)>(([], nil))

    /// The status of the engine's response to the upgrade request.
    let status: Int

    /// - Parameter headers: The headers in addition to those of every upgrade request.
    init(_ port: UInt16, path: String = "/signalbox", _ headers: [String]) async throws {
        let request =
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            + headers.map { $0 + "\r\n" }.joined() + "\r\n"
        var (socket, status) = try await PageSocket.open(port, request)
        // A slow machine may take longer than the engine waits for a request.
        for _ in 0..<3 where status == 0 {
            close(socket)
            (socket, status) = try await PageSocket.open(port, request)
        }
        (self.socket, self.status) = (socket, status)
        // The thread retains the object until the connection ends, at the latest with the engine's run.
        if status == 101 { Thread.detachNewThread { self.read() } }
    }

    private static func open(_ port: UInt16, _ request: String) async throws -> (Int32, status: Int) {
        let socket = try LoopbackPort.makeSocket()
        let status = await PageSocket.onThread {
            guard LoopbackPort.connects(socket, to: port) else { return 0 }
            PageSocket.write(Array(request.utf8), to: socket)
            return PageSocket.readHead(of: socket)
        }
        return (socket, status)
    }

    /// Connects as a page of an origin that has the token.
    convenience init(_ port: UInt16, origin: String? = nil, token: String) async throws {
        try await self.init(
            port,
            [
                "Origin: \(origin ?? "http://127.0.0.1:\(port)")",
                "Sec-WebSocket-Protocol: signalbox, signalbox.bearer.\(token)",
            ]
        )
    }

    deinit {
        close(socket)
    }

    // MARK: - Writing

    func send(_ text: String) {
        send(0x81, Array(text.utf8))
    }

    func send(_ head: UInt8, _ payload: [UInt8]) {
        let count = payload.count
        let length: [UInt8] =
            switch count {
            case ..<126: [0x80 | UInt8(count)]
            case ..<65_536: [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
            }
        PageSocket.write([head] + length + [0, 0, 0, 0] + payload, to: socket)
    }

    /// Ends the connection without a close frame.
    func cut() {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    private static func write(_ bytes: [UInt8], to socket: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    // MARK: - Reading

    /// Returns the received texts once there are at least `count`.
    @discardableResult
    func texts(_ count: Int) async throws -> [String] {
        await texts.until { $0.texts.count >= count || $0.closed != nil }
        let (all, closed) = texts.value
        if all.count < count, let closed { throw closed }
        return all
    }

    /// Returns the first text that satisfies the condition.
    func text(where isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        await texts.until { $0.texts.contains(where: isWanted) || $0.closed != nil }
        let (all, closed) = texts.value
        if let found = all.first(where: isWanted) { return found }
        throw closed ?? Closed(code: nil)
    }

    var textsSoFar: [String] { texts.value.texts }

    var isClosed: Bool { texts.value.closed != nil }

    /// Returns the end of the connection, once it has ended.
    func closed() async -> Closed? {
        await texts.until { $0.closed != nil }
        return texts.value.closed
    }

    private static func readHead(of socket: Int32) -> Int {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard recv(socket, &byte, 1, 0) == 1 else { return 0 }
            head.append(byte)
        }
        let fields = String(decoding: head, as: UTF8.self).split(separator: " ", maxSplits: 2)
        return fields.count > 1 ? Int(fields[1]) ?? 0 : 0
    }

    private func read() {
        func bytes(_ count: Int) -> [UInt8]? {
            var all = [UInt8](repeating: 0, count: count)
            var offset = 0
            while offset < count {
                let read = all.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + offset, count - offset, 0) }
                guard read > 0 else { return nil }
                offset += read
            }
            return all
        }
        while let head = bytes(2) {
            var length = Int(head[1] & 0x7F)
            if length >= 126 {
                guard let more = bytes(length == 126 ? 2 : 8) else { break }
                length = more.reduce(0) { $0 << 8 | Int($1) }
            }
            guard let payload = bytes(length) else { break }
            switch head[0] & 0x0F {
            case 1: texts.change { $0.texts.append(String(decoding: payload, as: UTF8.self)) }
            case 8:
                let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil
                texts.change { $0.closed = $0.closed ?? Closed(code: code) }
                // The engine waits until the peer disconnects.
                shutdown(socket, Int32(SHUT_RDWR))
            default: break
            }
        }
        texts.change { $0.closed = $0.closed ?? Closed(code: nil) }
    }

    private static func onThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: work()) }
        }
    }
}
