import CLibwebsocketsLibrary
import Foundation

/// A Swift loop that only counts: the adapter's library, context and sizes, without reading messages.
///
/// A separate target: in one target with WebSocketChat, the header's names resolve only to the adapter's module.
public final class BareWebSocketClient {
    private static let receiveBytes = 65_536

    private let count: () -> Bool
    private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
    private var isDone = false

    /// - Parameter count: Called for each message; returns whether it was the last.
    public init(count: @escaping () -> Bool) {
        self.count = count
    }

    /// Connects to a local port, and returns after the last message.
    public func run(port: UInt16) {
        lws_set_log_level(LLL_ERR, nil)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        protocols.pointee.name = UnsafePointer(strdup("benchmark"))
        protocols.pointee.callback = called
        protocols.pointee.rx_buffer_size = BareWebSocketClient.receiveBytes
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.pt_serv_buf_size = UInt32(BareWebSocketClient.receiveBytes)
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.gid = -1
        info.uid = -1
        guard let context = lws_create_context(&info) else { exit(2) }
        connect(context, port: port)
        while !isDone { guard lws_service(context, 0) >= 0 else { exit(2) } }
        lws_context_destroy(context)
    }

    private func connect(_ context: OpaquePointer, port: UInt16) {
        let address = strdup("127.0.0.1")
        let path = strdup("/")
        var target = lws_client_connect_info()
        target.context = context
        target.address = UnsafePointer(address)
        target.host = UnsafePointer(address)
        target.path = UnsafePointer(path)
        target.port = Int32(port)
        target.local_protocol_name = protocols.pointee.name
        target.ietf_version_or_minus_one = -1
        guard lws_client_connect_via_info(&target) != nil else { exit(2) }
        free(address)
        free(path)
    }

    fileprivate func take() {
        if count() { isDone = true }
    }
}

private func called(
    _ handle: OpaquePointer?,
    _ reason: lws_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    if reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR { exit(2) }
    guard reason == LWS_CALLBACK_CLIENT_RECEIVE, is_whole_message(handle) != 0,
        let owner = lws_context_user(lws_get_context(handle))
    else { return 0 }
    Unmanaged<BareWebSocketClient>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.take() }
    return 0
}
