import BrokerKit
import Foundation
import SignalboxTesting
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A server that answers a request with what a test wants and then says no more, for what no proper server does.
final class FakeServer: Sendable {
    let port: UInt16
    /// The requests that came, one for each connection.
    let requests = EventList<String>()
    private let listener: Int32
    private let sockets = Mutex<[Int32]>([])
    private let answer: @Sendable (String) -> String

    /// - Parameter answer: made of the request.
    init?(_ answer: @escaping @Sendable (String) -> String) {
        guard let (socket, port) = try? LoopbackPort.listening() else { return nil }
        self.answer = answer
        self.port = port
        listener = socket
        Thread.detachNewThread { [weak self] in
            // Closed here alone: a number that was closed elsewhere may be another's while this thread still uses it.
            defer { close(socket) }
            while true {
                let accepted = LoopbackPort.accept(on: socket)
                guard accepted >= 0 else { return }
                guard let self else {
                    close(accepted)
                    return
                }
                serve(accepted)
            }
        }
    }

    deinit {
        end()
    }

    /// Every connection is closed, and no further one is taken.
    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        drop()
    }

    /// Every connection is closed.
    func drop() {
        let open = sockets.withLock { sockets in
            defer { sockets = [] }
            return sockets
        }
        for socket in open { close(socket) }
    }

    private func serve(_ socket: Int32) {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while request.suffix(4) != Array("\r\n\r\n".utf8)[...] {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else {
                close(socket)
                return
            }
            request += buffer.prefix(count)
        }
        let text = String(decoding: request, as: UTF8.self)
        let answer = Array(answer(text).utf8)
        sockets.withLock { $0.append(socket) }
        requests.append(text)
        _ = answer.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}
