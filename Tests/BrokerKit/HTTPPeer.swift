import Foundation
import SignalboxTesting

/// A local HTTP/1.1 server that answers as a test decides.
public final class HTTPPeer: Sendable {
    /// A request that the server has received.
    public struct Request: Sendable {
        /// The method, such as `POST`.
        public let method: String
        /// The path and query.
        public let target: String
        /// The header lines, in order.
        public let lines: [String]
        /// The body; empty without a `Content-Length`.
        public let body: [UInt8]
        /// The number of the connection, from 1.
        public let connection: Int

        /// Returns the values of a header.
        public func values(_ name: String) -> [String] {
            lines.compactMap { line in
                guard line.lowercased().hasPrefix(name.lowercased() + ":") else { return nil }
                return line.dropFirst(name.utf8.count + 1).trimmingCharacters(in: .whitespaces)
            }
        }
    }

    /// What the server does with a request.
    public struct Answer: Sendable {
        let bytes: [UInt8]
        /// Whether the server closes the connection afterwards, and otherwise reads the next request.
        let closes: Bool

        /// Exactly these bytes.
        public static func raw(_ text: String, closes: Bool = true) -> Answer {
            Answer(bytes: Array(text.utf8), closes: closes)
        }

        /// A response with a length.
        public static func status(_ status: Int, _ body: String = "", headers: [String] = []) -> Answer {
            let lines = ["HTTP/1.1 \(status) Text", "Content-Length: \(body.utf8.count)"] + headers
            return .raw(lines.joined(separator: "\r\n") + "\r\n\r\n" + body, closes: false)
        }

        /// No answer: the server only waits for the end of the connection.
        public static let silence = Answer(bytes: [], closes: false)
    }

    private struct State: Sendable {
        var accepted = 0
        var ended = 0
        var requests: [Request] = []
    }

    /// The server's port.
    public let port: UInt16
    private let socket: Int32
    private let state = Watched(State())

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - secured: Returns the stream of a connection, or `nil` if its handshake fails. By default, it is plain.
    ///   - answer: Returns what to do with a request. The argument `earlier` is the number of the requests before it.
    public init(
        secured: @escaping @Sendable (Int32) -> (any HTTPPeerStream)? = { PlainStream(socket: $0) },
        answer: @escaping @Sendable (_ request: Request, _ earlier: Int) -> Answer
    ) throws {
        (socket, port) = try LoopbackPort.listening()
        let (socket, state) = (socket, state)
        Thread.detachNewThread {
            while true {
                let connection = LoopbackPort.accept(on: socket)
                guard connection >= 0 else { break }
                let number = state.change { state -> Int in
                    state.accepted += 1
                    return state.accepted
                }
                Thread.detachNewThread {
                    if let stream = secured(connection) {
                        HTTPPeer.serve(stream, number) { request in
                            let earlier = state.change { state -> Int in
                                state.requests.append(request)
                                return state.requests.count - 1
                            }
                            return answer(request, earlier)
                        }
                    }
                    close(connection)
                    state.change { $0.ended += 1 }
                }
            }
            close(socket)
        }
    }

    deinit {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// The requests so far.
    public var requests: [Request] { state.value.requests }
    /// The number of connections so far.
    public var accepted: Int { state.value.accepted }

    /// Waits for requests, and returns them.
    public func requests(_ count: Int) async -> [Request] {
        await state.until { $0.requests.count >= count }
        return requests
    }

    /// Waits until the server has seen the ends of connections.
    public func untilEnded(_ count: Int) async { await state.until { $0.ended >= count } }

    private static func serve(_ stream: any HTTPPeerStream, _ number: Int, _ answer: (Request) -> Answer) {
        var bytes: [UInt8] = []
        while let request = next(&bytes, stream, number) {
            let answer = answer(request)
            if !answer.bytes.isEmpty, !stream.write(answer.bytes) { return }
            if answer.closes { return }
        }
    }

    /// Returns the next request, or `nil` if the connection has ended.
    private static func next(_ bytes: inout [UInt8], _ stream: any HTTPPeerStream, _ number: Int) -> Request? {
        let end = Array("\r\n\r\n".utf8)
        var found = bytes.firstRange(of: end)
        while found == nil {
            guard let more = stream.read() else { return nil }
            bytes += more
            found = bytes.firstRange(of: end)
        }
        guard let found else { return nil }
        let lines = String(decoding: bytes[..<found.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ").map(String.init)
        let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        let bodyEnd = found.upperBound + (length ?? 0)
        while bytes.count < bodyEnd {
            guard let more = stream.read() else { return nil }
            bytes += more
        }
        defer { bytes.removeSubrange(..<bodyEnd) }
        return Request(
            method: first.first ?? "",
            target: first.dropFirst().first ?? "",
            lines: Array(lines.dropFirst()),
            body: Array(bytes[found.upperBound..<bodyEnd]),
            connection: number
        )
    }
}

/// The bytes of a server's connection. Its reads and writes block.
public protocol HTTPPeerStream {
    /// Returns the next bytes, or `nil` if the connection has ended.
    func read() -> [UInt8]?
    /// Returns whether all bytes were written.
    func write(_ bytes: [UInt8]) -> Bool
}

/// A connection without TLS.
public struct PlainStream: HTTPPeerStream {
    let socket: Int32

    /// - Parameter socket: The connection, which the stream does not close.
    public init(socket: Int32) {
        self.socket = socket
    }

    /// Returns the next bytes, or `nil` if the connection has ended.
    public func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }

    /// Returns whether all bytes were written.
    public func write(_ bytes: [UInt8]) -> Bool { RawWrite.all(bytes, to: socket) }
}

/// Writes bytes to a socket whose other side may have closed it.
enum RawWrite {
    static func all(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
