import Foundation
import Synchronization

/// A server that speaks what it is told instead of MQTT: for clients that must survive hostile brokers.
///
/// Each connection gets the next script: one answer per packet read from the client, in order; after the last it is
/// closed. Connections beyond the last script are closed at once.
public final class FakeBroker: Sendable {
    /// What is sent to one client: the first answer follows its CONNECT.
    public typealias Script = [[UInt8]]

    /// The port it listens on.
    public let port: Int
    private let listener: Int32
    private let scripts: Mutex<[Script]>

    /// Starts to listen.
    public init(_ scripts: [Script]) throws {
        let (listener, port) = try LoopbackPort.listening()
        self.port = Int(port)
        self.listener = listener
        self.scripts = Mutex(scripts)
        // The thread holds the object until `close()` ends it.
        Thread.detachNewThread { self.serve() }
    }

    /// Stops listening; a connection in progress is not ended.
    public func close() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    #if os(Linux)
    static let noSignal = Int32(MSG_NOSIGNAL)
    #else
    static let noSignal: Int32 = 0
    #endif

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            let script = scripts.withLock { $0.isEmpty ? [] : $0.removeFirst() }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            for answer in script {
                guard recv(client, &buffer, buffer.count, 0) > 0 else { break }
                _ = send(client, answer, answer.count, FakeBroker.noSignal)
            }
            if !script.isEmpty { while recv(client, &buffer, buffer.count, 0) > 0 {} }
            Foundation.close(client)
        }
        Foundation.close(listener)
    }
}
