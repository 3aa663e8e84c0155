import SignalboxCore
import WebSocketChat

extension BrowserBridgeError {
    /// What the server of the pages says, as the engine's.
    init(_ error: WebSocketChatError, source: SourceName) {
        let codes: [WebSocketChatError.Code: Code] = [
            .secretUnavailable: .secretUnavailable, .alreadyRunning: .alreadyRunning, .notListening: .notListening,
            .noResources: .noResources,
        ]
        self.init(codes[error.code] ?? .invalidConfiguration, error.detail, source: source)
    }
}
