public import JSBridge
import SignalboxCore
import WebSocketChat

/// The error thrown when a ``BrowserEngine`` cannot serve pages. It never contains a secret.
public typealias BrowserBridgeError = JSBridgeError

extension JSBridgeError.Code {
    /// The token could not be read.
    public static let secretUnavailable = JSBridgeError.Code(rawValue: "secretUnavailable")
    /// The engine cannot listen because the port is in use, the address is not local, or the certificate is unusable.
    public static let notListening = JSBridgeError.Code(rawValue: "notListening")
}

extension JSBridgeError {
    /// Converts an error from the WebSocket server, whose codes have the same names.
    init(_ error: WebSocketChatError, source: SourceName) {
        self.init(Code(rawValue: error.code.rawValue), error.detail, source: source)
    }
}
