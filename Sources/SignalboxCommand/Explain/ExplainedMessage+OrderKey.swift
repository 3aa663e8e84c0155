import SignalboxCore

extension ExplainedMessage {
    /// The key by which its action waits for others, in words; `nil` where its plugin's order has none.
    func orderKey(of action: Action, plugins: [PluginSection]) -> String? {
        let plugin = plugins.first { $0.action == action.name }
        guard case .key(let path)? = plugin?.order, let body = try? action.body.decode(RawBody.self) else { return nil }
        return "the key \(path.joined(separator: ".")) is \(OrderKey(of: body, at: path).shown)"
    }
}

extension OrderKey {
    /// The most characters of a key that are shown.
    private static let mostShown = 64

    /// The beginning of the value.
    fileprivate var shown: String {
        let whole =
            switch self {
            case .absent: "absent"
            case .text(let text): String(decoding: JSONText.string(text), as: UTF8.self)
            case .value(let json): String(decoding: json, as: UTF8.self)
            }
        return whole.count > OrderKey.mostShown ? "\(whole.prefix(OrderKey.mostShown))…" : whole
    }
}
