/// One message, and what plugins do with it.
struct MessageScenario: Sendable {
    var index = 0
    /// The source that sends it.
    var source = -1
    var content = Content.readable
    /// The action, which need not have a plugin.
    var action = 0
    /// The sender's id; one is assigned when `nil`.
    var id: String?
    var key = 0
    var deadline = Deadline.none
    /// What the plugin does at the first call, the second, and so on; the last counts for all further ones.
    var acts = [PluginAct.returns]

    enum Content: Sendable, Hashable {
        case readable
        /// A body that is no `SimulatedInfo`.
        case invalidBody
        /// No JSON at all.
        case unreadable
    }

    /// Real time must not matter, so there is no deadline that is near.
    enum Deadline: Sendable, Hashable { case none, past, far }

    /// The action that never has a plugin.
    static let unknown = 99

    func act(call: Int) -> PluginAct { acts[min(call, acts.count - 1)] }

    /// The bytes on the wire. `#index#` in them is how the simulation knows the message again.
    var text: String {
        let id = id.map { "\"id\":\"\($0)\"," } ?? ""
        return switch content {
        case .readable:
            "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\",\"message\":\(index),\"key\":\(key)}}"
        case .invalidBody: "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\"}}"
        case .unreadable: "{#\(index)#"
        }
    }

    /// The message that these bytes are.
    static func index(in text: some Sequence<UInt8>) -> Int? {
        let mark = UInt8(ascii: "#")
        let number = text.drop { $0 != mark }.dropFirst().prefix { $0 != mark }
        return Int(String(decoding: Array(number), as: UTF8.self))
    }
}

/// What the plugins of a simulation are called with.
struct SimulatedInfo: Codable, Sendable {
    let message: Int
    let key: Int
}
