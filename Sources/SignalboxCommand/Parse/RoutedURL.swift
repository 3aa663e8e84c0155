import AppScheme
import SignalboxCore
import SignalboxRoutes

/// What routes say about a URL: what would be called, or why nothing would.
struct RoutedURL {
    private let match: LinkMatch?
    private let refusal: String

    /// - Parameters:
    ///   - url: the URL, or `nil` when it was refused.
    ///   - error: why.
    init(_ url: URLText?, _ error: URLTextError?, routes: AppRoutes) {
        match = url.map { routes.match($0.text) }
        refusal = "the link cannot be read: \(error?.description ?? "")"
    }

    /// Whether an action would be called.
    var isAction: Bool { action != nil }

    /// `route`, `action`, `id` and `body`; or `rejected`, and `route` where one matched.
    func add(to object: inout JSONObject) {
        object.add("route", match?.pattern?.text)
        if let action {
            object.add("action", action.name.text)
            object.add("id", action.id?.text)
            object.add("body", json: body(of: action))
        } else {
            object.add("rejected", objects: rejection)
        }
    }

    /// The action and its body, or why there is none, for a person.
    var column: String {
        guard let action else { return LineEscape.escaped("rejected: \(rejection.description)") }
        return LineEscape.escaped("-> \(action.name.text) ") + String(decoding: body(of: action), as: UTF8.self)
    }

    private var action: LinkAction? { try? match?.reading.get() }

    private var rejection: Outcome.Rejection {
        if case .failure(let rejection)? = match?.reading { return rejection }
        return Outcome.Rejection(.malformed, detail: refusal)
    }

    /// The body that the plugin would get: what was captured.
    private func body(of action: LinkAction) -> [UInt8] {
        var body = JSONObject()
        for capture in action.captures { body.add(capture.name, capture.value) }
        return body.closed
    }
}

extension JSONObject {
    fileprivate mutating func add(_ name: String, objects rejection: Outcome.Rejection) {
        var object = JSONObject()
        object.add("reason", rejection.reason.description)
        object.add("detail", rejection.detail)
        add(name, json: object.closed)
    }
}
