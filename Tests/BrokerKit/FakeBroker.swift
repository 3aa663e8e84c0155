import Foundation
import Synchronization

/// A server that sends scripted bytes instead of MQTT, for clients that must withstand hostile brokers.
///
/// Each connection gets the next script: one answer per packet read from the client, in order. After the last answer
/// the connection stays open until the client ends it, unless `hangUps` ends it. Connections after the last script are
/// closed immediately.
public final class FakeBroker: Sendable {
    /// The answers to one client; the first follows its CONNECT.
    public typealias Script = [[UInt8]]

    /// The listening port.
    public let port: Int
    private let listener: Int32
    private struct Program {
        var scripts: [Script]
        var hangUps: Int
    }

    private let program: Mutex<Program>
    private let played = Mutex(0)

    /// The number of scripts of which the last answer was sent.
    public var playedScripts: Int { played.withLock { $0 } }

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - scripts: The scripts, one per connection.
    ///   - hangUps: The number of connections, from the first, to end after their last answer. Later ones last until
    ///     the client ends them.
    public init(_ scripts: [Script], hangUps: Int = 0) throws {
        let (listener, port) = try LoopbackPort.listening()
        self.port = Int(port)
        self.listener = listener
        program = Mutex(Program(scripts: scripts, hangUps: hangUps))
        // The thread retains the object until `close()` ends it.
        Thread.detachNewThread { self.serve() }
    }

    /// Stops listening. A connection in progress continues.
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
            // A client that only checks whether the port is open, as a test does, uses up no script.
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
                if index == script.count - 1 { played.withLock { $0 += 1 } }
            }
            // Does not close yet: the system would discard data that the client has not read.
            if hangsUp { shutdown(client, Int32(SHUT_WR)) }
            if !script.isEmpty { while recv(client, &buffer, buffer.count, 0) > 0 {} }
            Foundation.close(client)
        }
        Foundation.close(listener)
    }
}
