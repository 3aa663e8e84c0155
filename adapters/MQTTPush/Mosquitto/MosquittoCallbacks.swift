import CMosquitto

// libmosquitto calls these synchronously on the thread that calls `read`, `write` or `keepAlive` of a `MosquittoHandle`.
// `userData` is the client's `PushReceiver`, which the client keeps alive until the handle is destroyed. All pointers
// are valid during the call only, so everything is copied before it returns. They are global functions because a closure
// literal would take over the isolation of the type it is written in.

func mosquittoConnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ flags: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.connected(code: code, flags: flags)
}

func mosquittoDisconnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.disconnected(code: code)
}

func mosquittoSubscribed(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ count: Int32,
    _ granted: UnsafePointer<Int32>?,
    _ properties: OpaquePointer?
) {
    let codes = UnsafeBufferPointer(start: granted, count: granted == nil ? 0 : max(0, Int(count)))
    receiver(userData)?.subscribed(packet, codes)
}

func mosquittoReceived(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ message: UnsafePointer<mosquitto_message>?,
    _ properties: OpaquePointer?
) {
    guard let message else { return }
    receiver(userData)?.received(message, properties: properties)
}

private func receiver(_ userData: UnsafeMutableRawPointer?) -> PushReceiver? {
    guard let userData else { return nil }
    return Unmanaged<PushReceiver>.fromOpaque(userData).takeUnretainedValue()
}
