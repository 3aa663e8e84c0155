import CMosquitto
import Foundation

/// Publishes and counts acknowledgements, on one thread.
///
/// libmosquitto keeps what is not acknowledged over a reconnect inside the process and sends it again; publishing while
/// offline returns `MOSQ_ERR_NO_CONN` but queues all the same, so it counts as published.
final class Publisher {
    enum End: Int32 {
        case complete = 0
        case noProgress = 1
        case refused = 2
    }

    private let arguments: Arguments
    private let ledger: FileHandle
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
        guard FileManager.default.createFile(atPath: arguments.ledger, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        ledger = try FileHandle(forWritingTo: URL(fileURLWithPath: arguments.ledger))
    }

    /// Publishes all and returns when all are acknowledged, one was refused, or nothing has moved for the timeout.
    func run() throws -> End {
        mosquitto_lib_init()
        // Unretained: the handle is destroyed before this call returns, and the caller holds the object until then.
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
            try writeLedger()
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

    private func writeLedger() throws {
        guard !acknowledged.isEmpty else { return }
        try ledger.write(contentsOf: Data(acknowledged.map { "\($0)\n" }.joined().utf8))
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

// Called on the publisher's thread inside `mosquitto_loop`; `userData` is the publisher, which outlives the handle.

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
