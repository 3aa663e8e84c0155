import Foundation
import Synchronization

/// A server that speaks what it is told instead of MQTT: for clients that must survive hostile brokers.
///
/// Each connection gets the next script: one answer per packet read from the client, in order; after the last the
/// connection stays until the client ends it, or is ended where `hangUps` says so. Connections beyond the last script are
/// closed at once.
public final class FakeBroker: Sendable {
    /// What is sent to one client: the first answer follows its CONNECT.
    public typealias Script = [[UInt8]]

    /// The port it listens on.
    public let port: Int
    private let listener: Int32
    private struct Program {
        var scripts: [Script]
        var hangUps: Int
    }

    private let program: Mutex<Program>

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - scripts: one for each connection to come.
    ///   - hangUps: how many connections, from the first, are ended after their last answer. Later ones last until the
    ///     client ends them.
    public init(_ scripts: [Script], hangUps: Int = 0) throws {
        let (listener, port) = try LoopbackPort.listening()
        self.port = Int(port)
        self.listener = listener
        program = Mutex(Program(scripts: scripts, hangUps: hangUps))
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
            let client = LoopbackPort.accept(on: listener)
            guard client >= 0 else { break }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            // Who only looks whether somebody listens, as a test does that wants a port, has no script.
            guard recv(client, &buffer, buffer.count, 0) > 0 else {
                Foundation.close(client)
                continue
            }
            let (script, hangsUp) = program.withLock { program in
                program.hangUps -= 1
                return (program.scripts.isEmpty ? [] : program.scripts.removeFirst(), program.hangUps >= 0)
            }
            for (index, answer) in script.enumerated() {
                guard index == 0 || recv(client, &buffer, buffer.count, 0) > 0 else { break }
                _ = send(client, answer, answer.count, FakeBroker.noSignal)
            }
            // Not closed at once: the system would throw away what the client has not read yet.
            if hangsUp { shutdown(client, Int32(SHUT_WR)) }
            if !script.isEmpty { while recv(client, &buffer, buffer.count, 0) > 0 {} }
            Foundation.close(client)
        }
        Foundation.close(listener)
    }
}
