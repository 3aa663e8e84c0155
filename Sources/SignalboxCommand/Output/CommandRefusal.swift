import BrowserBridge
import JSBridge
import WebSocketChat

/// Why a command does not begin, and the status it ends with.
struct CommandRefusal: Error, Sendable, CustomStringConvertible {
    /// The status.
    let status: CommandStatus
    /// What is wrong, one line per mistake.
    let description: String

    /// - Parameters:
    ///   - status: what the command ends with.
    ///   - lines: what is wrong, one line per mistake.
    init(_ status: CommandStatus, _ lines: String) {
        self.status = status
        description = lines
    }

    /// What kept the parts of a configuration from being set up.
    init(_ error: any Error) {
        switch error {
        case let refusal as CommandRefusal: self = refusal
        case is NamedFileError: self.init(.unreadableFile, "\(error)")
        case let error as JSBridgeError where error.code == .invalidConfiguration:
            self.init(.invalidConfiguration, "\(error)")
        case let error as WebSocketChatError where error.code == .invalidConfiguration:
            self.init(.invalidConfiguration, "\(error)")
        case let error as BrowserBridgeError where error.code == .invalidConfiguration:
            self.init(.invalidConfiguration, "\(error)")
        case is BridgeConfigurationError: self.init(.invalidConfiguration, "\(error)")
        default: self.init(.unavailable, "\(error)")
        }
    }

    /// What made a source give up while the program ran.
    init(givingUp error: any Error) {
        let isDeaf =
            (error as? WebSocketChatError)?.code == .notListening
            || (error as? BrowserBridgeError)?.code == .notListening
        self.init(isDeaf ? .cannotListen : .unavailable, "\(error)")
    }

    /// Tells it on stderr.
    ///
    /// - Returns: the status, when the lines are out.
    func told() async -> CommandStatus {
        for line in description.split(separator: "\n") { DiagnosticOutput.shared.tell(String(line)) }
        await DiagnosticOutput.shared.flush()
        return status
    }
}
