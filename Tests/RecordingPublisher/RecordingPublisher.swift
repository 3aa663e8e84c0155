import CMosquitto
import Foundation

@main
struct RecordingPublisher {
    static func main() {
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            print(Arguments.usage)
            exit(64)
        }
        do {
            let publisher = try Publisher(arguments)
            exit(try publisher.run().rawValue)
        } catch {
            print("the log cannot be written: \(error)")
            exit(64)
        }
    }
}

/// The program's parsed arguments.
struct Arguments {
    var host = "127.0.0.1"
    var port: Int32 = 1883
    var topic = "push/numbers/log"
    var payload = #"{"id":"{n}"}"#
    var first = 1
    var count = 1
    var inFlight = 100
    var log = "acknowledged.txt"
    var timeout = 120

    static let usage = """
        Publishes numbered messages with QoS 1 and logs the number of each acknowledged one.

        usage: RecordingPublisher [--host 127.0.0.1] [--port 1883] [--topic T] [--payload P] [--first 1] [--count 1]
                                  [--in-flight 100] [--log acknowledged.txt] [--timeout 120]

        {n} in topic and payload is replaced with the number. Reconnects after a lost connection.
        --in-flight limits the unacknowledged messages (1 to 1000), --timeout the seconds without progress.
        exit: 0 all acknowledged, 1 timed out without progress, 2 refused by the broker, 64 invalid arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst(), set(option, value) else { return nil }
        }
        guard (1...1_000).contains(inFlight), count >= 1, timeout >= 1 else { return nil }
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--host": host = value
        case "--topic": topic = value
        case "--payload": payload = value
        case "--log": log = value
        default: return setNumber(option, value)
        }
        return true
    }

    private mutating func setNumber(_ option: String, _ value: String) -> Bool {
        guard let number = Int(value) else { return false }
        switch option {
        case "--port":
            guard (1...65_535).contains(number) else { return false }
            port = Int32(number)
        case "--first": first = number
        case "--count": count = number
        case "--in-flight": inFlight = number
        case "--timeout": timeout = number
        default: return false
        }
        return true
    }
}

/// Publishes messages and records their acknowledgements, on one thread.
///
/// libmosquitto stores unacknowledged messages in the process across a reconnect and sends them again. Publishing while
/// offline returns `MOSQ_ERR_NO_CONN` but queues the message, so it counts as published.
final class Publisher {
    enum End: Int32 {
        case complete = 0
        case noProgress = 1
        case refused = 2
    }

    private let arguments: Arguments
    private let log: FileHandle
    private var handle: OpaquePointer?
    private var isConnected = false
    private var next: Int
    private var numbers: [Int32: Int] = [:]
    private var acknowledged: [Int] = []
    private var acknowledgedCount = 0
    private var isRefused = false
    private var progress = ContinuousClock.now

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        next = arguments.first
        guard FileManager.default.createFile(atPath: arguments.log, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        log = try FileHandle(forWritingTo: URL(fileURLWithPath: arguments.log))
    }

    /// Publishes messages until all are acknowledged, one is refused, or the timeout passes without progress.
    func run() throws -> End {
        mosquitto_lib_init()
        // Unretained: the handle is destroyed before this call returns, and the caller retains the object until then.
        handle = mosquitto_new(nil, true, Unmanaged.passUnretained(self).toOpaque())
        defer {
            mosquitto_destroy(handle)
            mosquitto_lib_cleanup()
        }
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, Int32(arguments.inFlight))
        mosquitto_connect_v5_callback_set(handle, publisherConnected)
        mosquitto_disconnect_callback_set(handle, publisherDisconnected)
        mosquitto_publish_v5_callback_set(handle, publisherAcknowledged)
        var code = mosquitto_connect(handle, arguments.host, arguments.port, 30)
        while acknowledgedCount < arguments.count {
            if isRefused { return .refused }
            if ContinuousClock.now - progress > .seconds(arguments.timeout) { return .noProgress }
            if code != MOSQ_ERR_SUCCESS.rawValue {
                isConnected = false
                Thread.sleep(forTimeInterval: 0.05)
                code = mosquitto_reconnect(handle)
                continue
            }
            publishMore()
            code = mosquitto_loop(handle, 20, 1)
            try writeLog()
        }
        mosquitto_disconnect(handle)
        return .complete
    }

    private func publishMore() {
        while isConnected && numbers.count < arguments.inFlight && next < arguments.first + arguments.count {
            let payload = Array(arguments.payload.replacing("{n}", with: "\(next)").utf8)
            let topic = arguments.topic.replacing("{n}", with: "\(next)")
            var id: Int32 = 0
            let code = mosquitto_publish(handle, &id, topic, Int32(payload.count), payload, 1, false)
            guard code == MOSQ_ERR_SUCCESS.rawValue || code == MOSQ_ERR_NO_CONN.rawValue else { return }
            numbers[id] = next
            next += 1
        }
    }

    private func writeLog() throws {
        guard !acknowledged.isEmpty else { return }
        try log.write(contentsOf: Data(acknowledged.map { "\($0)\n" }.joined().utf8))
        acknowledged.removeAll(keepingCapacity: true)
    }

    fileprivate func connected(_ code: Int32) {
        isConnected = code == 0
        if code >= 128 { isRefused = true }
    }

    fileprivate func disconnected() {
        isConnected = false
    }

    fileprivate func acknowledged(_ id: Int32, _ code: Int32) {
        guard let number = numbers.removeValue(forKey: id) else { return }
        progress = .now
        if code >= 128 {
            isRefused = true
            return
        }
        acknowledged.append(number)
        acknowledgedCount += 1
    }
}

// Called on the publisher's thread inside `mosquitto_loop`. `userData` is the publisher, which outlives the handle.

private func publisherConnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ flags: Int32,
    _ properties: OpaquePointer?
) {
    publisher(userData)?.connected(code)
}

private func publisherDisconnected(_ handle: OpaquePointer?, _ userData: UnsafeMutableRawPointer?, _ code: Int32) {
    publisher(userData)?.disconnected()
}

private func publisherAcknowledged(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ id: Int32,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    publisher(userData)?.acknowledged(id, code)
}

private func publisher(_ userData: UnsafeMutableRawPointer?) -> Publisher? {
    guard let userData else { return nil }
    return Unmanaged<Publisher>.fromOpaque(userData).takeUnretainedValue()
}
