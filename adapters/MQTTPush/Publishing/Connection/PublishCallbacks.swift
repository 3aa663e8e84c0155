import CMosquitto

// As those of the receiving client: called on the thread that reads and writes, with the client's `PublishReceiver`, which
// lives as long as the handle. Everything is copied before they return.

func publisherConnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ flags: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.connected(code: code)
}

func publisherDisconnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.disconnected(code: code)
}

func publisherPublished(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.published(packet: packet, code: code)
}

func publisherSubscribed(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ count: Int32,
    _ granted: UnsafePointer<Int32>?,
    _ properties: OpaquePointer?
) {
    // One filter is asked for; a broker that says nothing of it has not granted it.
    let code = count > 0 ? granted?.pointee : nil
    receiver(userData)?.subscribed(code ?? Int32(MQTT_RC_UNSPECIFIED.rawValue))
}

func publisherReceived(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ message: UnsafePointer<mosquitto_message>?,
    _ properties: OpaquePointer?
) {
    guard let message else { return }
    receiver(userData)?.received(message, properties: properties)
}

private func receiver(_ userData: UnsafeMutableRawPointer?) -> PublishReceiver? {
    guard let userData else { return nil }
    return Unmanaged<PublishReceiver>.fromOpaque(userData).takeUnretainedValue()
}
