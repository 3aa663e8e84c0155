import SignalboxCore
import SignalboxRoutes

/// What is said of a link that is no action. Of the link itself only scheme and host, and why what it names is no action:
/// the rest may hold a secret, and a rejection is logged.
extension Outcome.Rejection {
    /// The most bytes that are shown of scheme or host.
    private static let shownBytes = 64

    static func malformed(_ detail: String) -> Outcome.Rejection {
        Outcome.Rejection(.malformed, detail: detail)
    }

    static func unreadableLink(_ error: URLTextError) -> Outcome.Rejection {
        malformed("the link cannot be read: \(error)")
    }

    static func unreadableQuery(_ error: URLTextError) -> Outcome.Rejection {
        malformed("the link's query cannot be read: \(error)")
    }

    static func noRoute(for url: URLText) -> Outcome.Rejection {
        let host = url.host.map { "host \(shown($0).debugDescription)" } ?? "no host"
        let detail = "no route matches this link of scheme \(shown(url.scheme)) and \(host)"
        return Outcome.Rejection(.unknownAction, detail: detail)
    }

    private static func shown(_ text: String) -> String {
        text.utf8.count <= shownBytes ? text : String(decoding: text.utf8.prefix(shownBytes), as: UTF8.self) + "..."
    }
}
