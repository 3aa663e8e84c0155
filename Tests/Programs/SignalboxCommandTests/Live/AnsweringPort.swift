import BrokerKit
import Foundation
import Synchronization

/// A loopback port that answers the beginning of whatever comes with the same bytes, and closes.
final class AnsweringPort: Sendable {
    let port: Int
    private let listener: FileHandle

    /// Answers with these bytes alone.
    convenience init(_ answer: String) throws {
        try self.init { (client, _) in AnsweringPort.send(Array(answer.utf8), to: client) }
    }

    /// Lets a WebSocket server open the connection, and then says something else than it would.
    ///
    /// - Parameters:
    ///   - server: its port.
    ///   - frames: what is sent after the server's answer to the upgrade.
    convenience init(afterUpgradeBy server: Int, frames: [UInt8]) throws {
        try self.init { (client, request) in
            guard let upstream = try? LoopbackPort.makeSocket() else { return }
            defer { close(upstream) }
            guard LoopbackPort.connects(upstream, to: UInt16(server)) else { return }
            AnsweringPort.send(request, to: upstream)
            var answer: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 4_096)
            while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let count = read(upstream, &piece, 1)
                guard count > 0 else { return }
                answer += piece[..<count]
            }
            AnsweringPort.send(answer + frames, to: client)
            // Until the client has answered and gone.
            while read(client, &piece, piece.count) > 0, !frames.isEmpty {}
        }
    }

    private init(_ serve: @escaping @Sendable (_ client: Int32, _ request: [UInt8]) -> Void) throws {
        let (descriptor, port) = try LoopbackPort.listening()
        self.port = Int(port)
        let listener = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.listener = listener
        // Ends when shutdown(2) ends the accept(2) it waits in.
        Thread.detachNewThread {
            var request = [UInt8](repeating: 0, count: 4_096)
            while true {
                let client = accept(listener.fileDescriptor, nil, nil)
                guard client >= 0 else { return }
                let count = read(client, &request, request.count)
                serve(client, Array(request[..<max(0, count)]))
                close(client)
            }
        }
    }

    deinit {
        shutdown(listener.fileDescriptor, Int32(SHUT_RDWR))
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) {
        _ = bytes.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
    }
}
