import CMosquittoLibrary
import Foundation

/// A Swift loop around libmosquitto that only counts. It reads and acknowledges up to 250 messages together.
final class CountingLoop {
    let meter: Meter
    private let options: Options
    private(set) var received = 0
    private var isDone = false
    private let topic = UnsafeMutablePointer<CChar>.allocate(capacity: 256)

    init(meter: Meter, options: Options) {
        self.meter = meter
        self.options = options
    }

    func run() {
        strncpy(topic, options.topic, 255)
        mosquitto_lib_init()
        let client = mosquitto_new(nil, true, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 250)
        mosquitto_connect_v5_callback_set(client, didConnect)
        mosquitto_subscribe_callback_set(client, didSubscribe)
        mosquitto_message_v5_callback_set(client, didReceive)
        mosquitto_threaded_set(client, true)
        guard mosquitto_connect_bind_v5(client, "127.0.0.1", Int32(options.port), 60, nil, nil) == 0 else { exit(2) }
        mosquitto_loop_write(client, 1)
        while !isDone { turn(client) }
        mosquitto_disconnect(client)
    }

    private func turn(_ client: OpaquePointer?) {
        let events = POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0)
        var socket = pollfd(fd: mosquitto_socket(client), events: Int16(events), revents: 0)
        poll(&socket, 1, 100)
        let first = received
        var before = -1
        while received > before, received - first < 250 {
            before = received
            guard mosquitto_loop_read(client, 1) == 0 else { exit(2) }
        }
        mosquitto_loop_write(client, 1)
        mosquitto_loop_misc(client)
    }

    fileprivate func count() {
        received += 1
        if meter.count() { isDone = true }
    }

    fileprivate func subscribe(_ client: OpaquePointer?) {
        mosquitto_subscribe_v5(client, nil, topic, Int32(options.qos.rawValue), 0, nil)
    }
}

private func loop(_ context: UnsafeMutableRawPointer?) -> CountingLoop? {
    context.map { Unmanaged<CountingLoop>.fromOpaque($0).takeUnretainedValue() }
}

private func didConnect(
    client: OpaquePointer?,
    context: UnsafeMutableRawPointer?,
    code: Int32,
    flags: Int32,
    properties: OpaquePointer?
) {
    loop(context)?.subscribe(client)
}

private func didSubscribe(
    client: OpaquePointer?,
    context: UnsafeMutableRawPointer?,
    id: Int32,
    count: Int32,
    granted: UnsafePointer<Int32>?
) {
    print("ready")
    fflush(nil)
}

private func didReceive(
    client: OpaquePointer?,
    context: UnsafeMutableRawPointer?,
    message: UnsafePointer<mosquitto_message>?,
    properties: OpaquePointer?
) {
    loop(context)?.count()
}
