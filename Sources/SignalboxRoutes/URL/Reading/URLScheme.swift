/// The special schemes of the WHATWG's section 4.2, and all others.
enum URLScheme: Sendable {
    case http, https, webSocket, secureWebSocket, ftp, file, other

    /// - Parameter name: in lower case.
    init(_ name: some Sequence<UInt8>) {
        switch String(decoding: Array(name), as: UTF8.self) {
        case "https": self = .https
        case "http": self = .http
        case "file": self = .file
        case "ws": self = .webSocket
        case "wss": self = .secureWebSocket
        case "ftp": self = .ftp
        default: self = .other
        }
    }

    /// The port that is meant where none is written.
    var defaultPort: UInt16? {
        switch self {
        case .http, .webSocket: 80
        case .https, .secureWebSocket: 443
        case .ftp: 21
        case .file, .other: nil
        }
    }
}
