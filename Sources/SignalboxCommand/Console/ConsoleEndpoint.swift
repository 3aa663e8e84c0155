import SignalboxRoutes
import WebSocketChat

/// The documents and questions of the console, by their paths.
enum ConsoleEndpoint: String, CaseIterable, Sendable {
    case page = "/console"
    case script = "/console/console.js"
    case style = "/console/console.css"
    /// What happens: the status, the arrows, the last actions.
    case live = "/console/live"
    /// The configuration's text, with its findings.
    case configuration = "/console/configuration"
    /// All dead letters, as `dead export` writes them.
    case export = "/console/export"
    case explain = "/console/explain"
    case send = "/console/send"
    case replay = "/console/replay"

    /// The method that the path has.
    var method: String {
        switch self {
        case .explain, .send, .replay: "POST"
        case .page, .script, .style, .live, .configuration, .export: "GET"
        }
    }

    /// Whether the path changes nothing, so that a console that only shows has it too.
    var isReadOnly: Bool { self != .send && self != .replay }

    /// The maximum size of a request's body, in bytes.
    var bodyLimit: Int { method == "POST" ? 1 << 20 : 0 }

    /// The document at the path, or `nil` if the answer is made for each request. Documents have no data, so they need no token.
    var document: HTTPAnswer? {
        switch self {
        case .page: ConsoleEndpoint.document(PackageResources.console_html, "text/html; charset=utf-8")
        case .script: ConsoleEndpoint.document(PackageResources.console_js, "text/javascript; charset=utf-8")
        case .style: ConsoleEndpoint.document(PackageResources.console_css, "text/css; charset=utf-8")
        default: nil
        }
    }

    private static func document(_ bytes: [UInt8], _ type: String) -> HTTPAnswer {
        HTTPAnswer(status: 200, headers: headers, contentType: type, body: bytes)
    }

    /// The page may load and ask only what is beside it, sends no forms, and no page may frame it.
    private static let headers = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// The route of the path, for listeners that sources share.
    var route: (pattern: URLPattern, url: URLText)? {
        guard let pattern = try? URLPattern(rawValue), let url = try? URLText("http://localhost\(rawValue)") else {
            return nil
        }
        return (pattern, url)
    }
}
