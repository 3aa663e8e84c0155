import SignalboxCore
import WebSocketChat

/// What `serve` was asked for beside the configuration.
struct ServeRequest: Sendable, Hashable {
    /// Where the one chat listens, in place of what its section says.
    var address: String?
    /// The same of its port.
    var port: UInt16?

    private var isEmpty: Bool { address == nil && port == nil }

    /// Looks whether there is something to serve, and puts the options in.
    ///
    /// - Parameter file: the configuration's file, for messages.
    /// - Throws: ``CommandRefusal`` when there is no chat, or several and an option that is about one.
    func apply(to configuration: inout RunConfiguration, file: String) throws(CommandRefusal) {
        let places = configuration.sources.indices.filter { configuration.sources[$0].isChat }
        guard let place = places.first else {
            let example = "chat: { chat: { port: 8080, principals: { NAME: { env: VARIABLE } } } }"
            let advice = "add one below 'sources', such as \(example)"
            throw CommandRefusal(.invalidConfiguration, "\(file): no source is a chat; \(advice)")
        }
        guard !isEmpty else { return }
        guard places.count == 1, case .chat(var section) = configuration.sources[place].kind else {
            let names = places.map { configuration.sources[$0].name.text }.joined(separator: ", ")
            let words = "--address and --port are about one chat, and there are several: \(names); write them there"
            throw CommandRefusal(.usage, words)
        }
        section.address = address ?? section.address
        section.port = port ?? section.port
        do throws(WebSocketChatError) {
            try section.validate(as: configuration.sources[place].name)
        } catch {
            throw CommandRefusal(.usage, "\(error)")
        }
        configuration.sources[place].kind = .chat(section)
    }
}

extension SourceSection {
    fileprivate var isChat: Bool { if case .chat = kind { true } else { false } }
}
