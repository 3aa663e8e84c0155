import SignalboxCore

/// A connection as the one who reads it sees it. Belongs to the service's thread.
final class ReadConnection {
    let chat: ChatConnection
    let flow: ConnectionFlow
    let origin: Origin
    var assembler: MessageAssembler
    /// It is read again, or at least still, when the intake has taken what was read.
    var isTouched = false

    init(_ chat: ChatConnection, origin: Origin, flow: ConnectionFlow, limit: Int) {
        self.chat = chat
        self.origin = origin
        self.flow = flow
        assembler = MessageAssembler(limit: limit)
    }

    var id: ConnectionID { chat.number }
}
