import Foundation
import SignalboxTesting
import Synchronization

/// A proxy on the loopback interface. It connects to one port of that interface, whatever host the client names, so that
/// a test's host need not exist.
public final class TestProxy: Sendable {
    /// The kind of proxy.
    public enum Kind: String, Sendable {
        case http, socks5
    }

    private struct State {
        var sockets: Set<Int32> = []
        var target: UInt16 = 0
        var answer: [UInt8]?
    }

    /// The listening port.
    public let port: UInt16
    private let kind: Kind
    private let login: (user: String, password: String)?
    private let listener: Int32
    private let state = Mutex(State())
    private let asked = Watched<[String]>([])

    /// Starts listening.
    ///
    /// - Parameter login: The login that clients need, if any.
    public init(_ kind: Kind, login: (user: String, password: String)? = nil, forwardingTo target: UInt16 = 0) throws {
        self.kind = kind
        self.login = login
        (listener, port) = try LoopbackPort.listening()
        state.withLock { $0.target = target }
        // The threads retain the object until `close()` ends them.
        Thread.detachNewThread { self.serve() }
    }

    /// The proxy's URL.
    public var url: String { "\(kind.rawValue)://127.0.0.1:\(port)" }

    /// The `host:port` texts that clients have asked for.
    public var destinations: [String] { asked.value }

    /// Answers clients with these bytes instead, then closes their connections. If there are none, the proxy stays
    /// silent.
    public func answer(_ bytes: [UInt8]) {
        state.withLock { $0.answer = bytes }
    }

    /// Waits until `count` clients have asked for a connection.
    public func untilAsked(_ count: Int) async {
        await asked.until { $0.count >= count }
    }

    /// Breaks all connections.
    public func drop() {
        state.withLock { state in for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    /// Breaks all connections and stops listening.
    public func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        drop()
    }

    private func serve() {
        while true {
            let near = LoopbackPort.accept(on: listener)
            guard near >= 0 else { break }
            state.withLock { _ = $0.sockets.insert(near) }
            Thread.detachNewThread {
                self.serve(near)
                self.end(near)
            }
        }
        Foundation.close(listener)
    }

    private func end(_ socket: Int32) {
        state.withLock { state in
            state.sockets.remove(socket)
            Foundation.close(socket)
        }
    }

    private func serve(_ near: Int32) {
        let client = ProxyClient(socket: near)
        if let answer = state.withLock({ $0.answer }) {
            guard let byte = client.read(1) else { return }
            asked.change { $0.append("\(byte)") }
            client.write(answer)
            // Without an answer, the client decides how long it waits.
            if answer.isEmpty { while client.read(1) != nil {} }
            return
        }
        guard let destination = kind == .http ? client.connectRequest(login) : client.socksRequest(login) else {
            return
        }
        asked.change { $0.append(destination) }
        guard let far = try? LoopbackPort.makeSocket() else { return }
        state.withLock { _ = $0.sockets.insert(far) }
        defer { end(far) }
        guard LoopbackPort.connects(far, to: state.withLock({ $0.target })) else {
            client.write(kind == .http ? Array("HTTP/1.1 502 No\r\n\r\n".utf8) : [5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
            return
        }
        client.write(
            kind == .http ? Array("HTTP/1.1 200 Yes\r\nVia: x\r\n\r\n".utf8) : [5, 0, 0, 1, 127, 0, 0, 1, 0, 1]
        )
        join(near, far)
    }

    private func join(_ near: Int32, _ far: Int32) {
        let back = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Relay.pass(from: far, to: near) { _ in true }
            back.signal()
        }
        Relay.pass(from: near, to: far) { _ in true }
        back.wait()
    }
}

/// A proxy's client, read and written by a thread that may block.
private struct ProxyClient {
    let socket: Int32

    func write(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, FakeBroker.noSignal) }
    }

    /// Returns exactly so many bytes, or `nil` if the client closes first.
    func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < count {
            guard recv(socket, &byte, 1, 0) == 1 else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Reads a request with the method CONNECT. Returns its target, or `nil` if the client was refused.
    func connectRequest(_ login: (user: String, password: String)?) -> String? {
        var head: [UInt8] = []
        while head.suffix(4) != Array("\r\n\r\n".utf8)[...] {
            guard let byte = read(1) else { return nil }
            head += byte
        }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3, words[0] == "CONNECT", lines.contains("Host: \(words[1])") else { return nil }
        let credentials = login.map { Data("\($0.user):\($0.password)".utf8).base64EncodedString() }
        guard credentials.map({ lines.contains("Proxy-Authorization: Basic \($0)") }) ?? true else {
            write(Array("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"test\"\r\n\r\n".utf8))
            return nil
        }
        return String(words[1])
    }

    /// Reads a SOCKS5 request. Returns its target, or `nil` if the client was refused.
    func socksRequest(_ login: (user: String, password: String)?) -> String? {
        guard let start = read(2), start[0] == 5, let methods = read(Int(start[1])) else { return nil }
        let method: UInt8 = login == nil ? 0 : 2
        guard methods.contains(method) else {
            write([5, 0xFF])
            return nil
        }
        write([5, method])
        if let login {
            guard let head = read(2), let user = read(Int(head[1])), let length = read(1),
                let password = read(Int(length[0]))
            else { return nil }
            let isRight = user == Array(login.user.utf8) && password == Array(login.password.utf8)
            write([1, isRight ? 0 : 1])
            guard isRight else { return nil }
        }
        guard let request = read(4), request[..<3] == [5, 1, 0], let host = host(request[3]), let port = read(2) else {
            return nil
        }
        return "\(host):\(Int(port[0]) << 8 | Int(port[1]))"
    }

    private func host(_ type: UInt8) -> String? {
        switch type {
        case 1: read(4)?.map(String.init).joined(separator: ".")
        case 3: read(1).flatMap { read(Int($0[0])) }.map { String(decoding: $0, as: UTF8.self) }
        default: nil
        }
    }
}
