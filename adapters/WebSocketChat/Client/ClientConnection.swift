#if WebSocket
import AdapterSupport
import DequeModule
import SecureTransport

/// A connection to a server, from the first attempt to its end. Only its loop's thread uses it.
final class ClientConnection {
    enum Phase {
        /// The server, on this machine, accepts no connection at the moment.
        case retrying(at: ContinuousClock.Instant)
        case connecting(OwnedDescriptor)
        /// TLS, if any, and then the upgrade.
        case upgrading(UpgradeExchange)
        case open
        /// A close frame was sent or received, or is about to be sent. No more messages are sent or received.
        case closing
    }

    enum Outgoing {
        case message(MessageKind, [UInt8])
        case ping
        case close(CloseCode, reason: String)
    }

    /// The content of the close frame to send, and what was sent and received of the closing handshake.
    struct Closing {
        var frame: [UInt8]?
        var isSent = false
        var isReceived = false
    }

    // Only the latest ping must be answered, but peers may count the answers (RFC 6455, 5.5.3).
    private static let pongLimit = 16

    let id: ConnectionID
    let target: ClientTarget
    var phase: Phase {
        didSet {
            if case .open = phase { isOpen = true } else { isOpen = false }
            if case .closing = phase { isClosing = true } else { isClosing = false }
        }
    }
    // Stored, because they are checked for every piece of a message.
    private(set) var isOpen = false
    private(set) var isClosing = false
    var link: (any Link)?
    /// When to give up opening the connection, or waiting for the peer to close it.
    var deadline: ContinuousClock.Instant?
    /// Why the connection ends, if known.
    var closeReason: DisconnectReason?
    var closing = Closing()

    // MARK: Reading

    /// Whether reading is paused.
    var isPaused = false
    /// Whether the peer has ended the connection during a pause. What it sent before is still to be read.
    var isHungUp = false
    /// Whether what follows in the stream has no meaning, because the peer has violated the framing.
    var ignoresInput = false
    var reader = FrameReader(.messages(mayBeCompressed: false))
    /// Input that a pause has kept from being processed. It is never longer than one read.
    var held: [UInt8] = []
    /// Whether the decoder or ``held`` may have input to process before anything else is read.
    var hasHeld = false
    private var agreement: DeflateAgreement?
    // Lazy, because the decoder and the deflater depend on the agreement.
    private(set) lazy var decoder = FrameDecoder(agreement)
    private(set) lazy var deflater = agreement.flatMap {
        MessageDeflater(windowBits: $0.outgoingWindowBits, contextTakeover: $0.outgoingContextTakeover)
    }

    // MARK: Writing

    /// Output that is not framed yet.
    var outgoing = Deque<Outgoing>()
    /// The answers to pings, which are sent before anything else.
    private(set) var pongs = Deque<[UInt8]>()
    /// The frames that are being written.
    var frames: FrameBatch
    /// How many bytes of the frames the link has taken.
    var written = 0
    /// Whether a write has failed. What the server sent before may still be there to read.
    var isWritingOver = false

    /// - Parameter waitingBytes: The maximum number of bytes waiting on the connection.
    init(_ id: ConnectionID, _ target: ClientTarget, waitingBytes: Int, deadline: ContinuousClock.Instant) {
        self.id = id
        self.target = target
        self.deadline = deadline
        phase = .retrying(at: deadline)
        frames = FrameBatch(waitingBytes: waitingBytes, isMasked: true)
    }

    /// Records that the server has agreed to the upgrade.
    func open(_ agreement: DeflateAgreement?) {
        self.agreement = agreement
        reader = FrameReader(.messages(mayBeCompressed: agreement != nil))
        phase = .open
        deadline = nil
    }

    /// Whether bytes may be read from the link now.
    var isReading: Bool { !isPaused && (isOpen || isClosing) }

    /// Whether there is input that does not make the descriptor readable.
    var mayHaveInput: Bool { isReading && (hasHeld || link?.mayHaveMore == true) }

    /// Whether there is output, so that the descriptor must become writable.
    var hasOutput: Bool {
        guard isOpen || isClosing, !isWritingOver else { return false }
        return !frames.isEmpty || !pongs.isEmpty || closing.frame != nil || !outgoing.isEmpty
    }

    /// The descriptor to poll and the events to wait for, or `nil` if there is nothing to wait for.
    var polled: (descriptor: Int32, events: Int32)? {
        switch phase {
        case .retrying: return nil
        case .connecting(let socket): return (socket.number, POLLOUT)
        case .upgrading(let exchange):
            guard let link else { return nil }
            return (link.descriptor, POLLIN | (link.waitsForWrite || exchange.waitsForWrite ? POLLOUT : 0))
        case .open, .closing:
            guard let link, !isHungUp else { return nil }
            // While reading is paused, the link must write nothing itself.
            let output = hasOutput || !isPaused && link.waitsForWrite ? POLLOUT : 0
            return (link.descriptor, (isPaused ? 0 : POLLIN) | output)
        }
    }

    /// Queues the answer to a ping.
    func answer(ping content: [UInt8]) {
        if pongs.count == ClientConnection.pongLimit { pongs.removeFirst() }
        pongs.append(content)
    }

    func nextPong() -> [UInt8]? { pongs.popFirst() }

    /// Begins to close the connection. The close frame precedes everything that is not a frame yet.
    ///
    /// - Parameter frame: The content of the close frame.
    func close(_ frame: [UInt8], _ reason: DisconnectReason, until deadline: ContinuousClock.Instant) {
        phase = .closing
        closeReason = reason
        closing.frame = frame
        self.deadline = deadline
        outgoing = Deque()
        pongs = Deque()
    }
}
#endif
