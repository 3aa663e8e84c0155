/// One connection as its service's thread sees it.
final class LibraryConnection {
    enum Phase: Equatable {
        /// Not open yet.
        case opening
        case open
        /// A close frame of ours or theirs is under way: nothing is received or sent any more.
        case ending
    }

    enum Outgoing {
        case message(MessageKind, [UInt8])
        case ping
        case close(CloseCode, reason: String)
    }

    let id: ConnectionID
    /// What a client's connection was asked for.
    let target: ClientTarget?
    var handle: OpaquePointer?
    var phase = Phase.opening
    var handshake = Handshake()
    /// Why it ends, as soon as that is known.
    var end: ConnectionEnd?
    /// Closes before anything else is sent.
    var cut: (code: CloseCode, reason: String, end: ConnectionEnd)?
    /// Nothing is read while there is one.
    var pause: LibraryPause?
    /// How messages are compressed, where they are.
    var agreement: DeflateAgreement?
    /// How many offers of compression a server has seen.
    var offersSeen = 0
    // Both wait until the agreement is known.
    private(set) lazy var reading = MessageReading(agreement)
    private(set) lazy var deflater = agreement.flatMap {
        MessageDeflater(windowBits: $0.outgoingWindowBits, keepsContext: $0.outgoingKeepsContext)
    }
    /// The request has left, so what fails now is the server's answer.
    var hasAsked = false
    /// Something was written since the last `drained`.
    var owesDrained = false
    /// What the last message takes that the library has not got rid of yet.
    var unsentCost = 0
    private var outgoing: [Outgoing] = []
    private var first = 0

    init(_ id: ConnectionID, target: ClientTarget? = nil) {
        self.id = id
        self.target = target
    }

    var hasNext: Bool { first < outgoing.count }

    func append(_ next: Outgoing) {
        outgoing.append(next)
    }

    /// Forgets what waits.
    func drop() {
        outgoing = []
        first = 0
    }

    /// The next to be sent, which is then no longer waiting.
    func takeNext() -> Outgoing? {
        guard first < outgoing.count else { return nil }
        defer {
            first += 1
            if first == outgoing.count {
                outgoing = []
                first = 0
            } else if first >= 64 && first * 2 >= outgoing.count {
                outgoing.removeFirst(first)
                first = 0
            }
        }
        return outgoing[first]
    }
}
