import SignalboxRoutes

@testable import SignalboxCore
@testable import WebSocketChat

/// Frames as libwebsockets delivers them, in chunks: a byte of flags, a byte with the length, and the payload. For any
/// input, a message's pieces are in order, its text is UTF-8, and a paused message resumes where it stopped.
enum FrameTarget {
    private struct Message {
        /// Whether a part of the message was passed to ``FrameDecoder``.
        var hasBegun = false
        /// Whether the message is binary. libwebsockets reports the same value for all frames of a message.
        var isBinary = false
        /// Whether a piece of the message has arrived.
        var isOpen = false
        var text = UTF8Stream()
    }

    static func run(_ input: [UInt8]) {
        let settings = input.first ?? 0
        let agreement = settings & 1 == 0 ? nil : DeflateAgreement.negotiated(by: "permessage-deflate")
        let decoder = FrameDecoder(agreement)
        var message = Message()
        var rest = input.dropFirst()
        var pauses = settings >> 4
        while let flags = rest.popFirst() {
            let length = Int(rest.popFirst() ?? 0)
            let bytes = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            guard take(bytes, flags, decoder, &message, &pauses) else { return }
        }
    }

    /// - Returns: Whether the connection continues.
    private static func take(
        _ bytes: [UInt8],
        _ flags: UInt8,
        _ decoder: FrameDecoder,
        _ message: inout Message,
        _ pauses: inout UInt8
    ) -> Bool {
        func deliver(_ piece: MessagePiece) -> PieceVerdict { take(piece, &message, &pauses) }
        let endsFrame = flags & 2 != 0
        let isFinal = endsFrame && flags & 1 != 0
        if !message.hasBegun { message.isBinary = flags & 4 != 0 }
        message.hasBegun = !isFinal
        let isBinary = message.isBinary
        var outcome = bytes.withUnsafeBytes { bytes in
            decoder.decode(
                FrameChunk(
                    bytes: bytes,
                    isFinal: isFinal,
                    isBinary: isBinary,
                    endsFrame: endsFrame,
                    reserved: flags & 0x70
                ),
                deliver
            )
        }
        while outcome == .pause { outcome = decoder.resume(deliver) }
        return outcome == .proceed
    }

    private static func take(_ piece: MessagePiece, _ message: inout Message, _ pauses: inout UInt8) -> PieceVerdict {
        require(piece.isFirst != message.isOpen, "a message begins when no other is open")
        require(piece.bytes.count <= 65_536, "a piece is bounded")
        if piece.isFirst { message.text = UTF8Stream() }
        if !piece.isBinary {
            require(message.text.take(piece.bytes), "the received part of a text is UTF-8")
            require(!piece.isFinal || message.text.isComplete, "a text ends with a whole character")
        }
        message.isOpen = !piece.isFinal
        guard pauses > 0 else { return .proceed }
        pauses -= 1
        return .pause
    }
}

/// Checks that inflating a message at once or in pieces gives the same bytes, and that no piece exceeds its bound.
enum InflaterTarget {
    static func run(_ input: [UInt8]) {
        let whole = inflated(input, pieces: input.count + 1)
        let parts = inflated(input, pieces: Int(input.first ?? 0) % 7 + 1)
        require(whole == parts, "the result does not depend on the fragmentation")
        guard let whole, let packed = MessageDeflater(windowBits: 15, contextTakeover: false)?.deflate(whole) else {
            return
        }
        require(inflated(packed, pieces: packed.count + 1) == whole, "recompressed bytes are unchanged")
    }

    /// - Returns: `nil` if the input is not a compressed message, or if its content is too long.
    private static func inflated(_ input: [UInt8], pieces size: Int) -> [UInt8]? {
        let inflater = MessageInflater(contextTakeover: false)
        var found: [UInt8] = []
        var start = 0
        while true {
            let end = min(start + size, input.count)
            let isLast = end == input.count
            let progress = input[start..<end].withUnsafeBytes { bytes in
                inflater.inflate(bytes, endsMessage: isLast) { piece, _ in
                    require(piece.count <= MessageInflater.pieceBytes, "a piece is bounded")
                    found += piece
                    return found.count <= 1_000_000
                }
            }
            guard progress == .done else { return nil }
            // The inflater ignores the result for the last piece.
            if isLast { return found.count <= 1_000_000 ? found : nil }
            start = end
        }
    }
}

/// Checks that a text in pieces is UTF-8 if and only if the standard library accepts the whole text.
enum UTF8Target {
    static func run(_ input: [UInt8]) {
        let isText = String(validating: input, as: UTF8.self) != nil
        require(input.withUnsafeBytes(UTF8Stream.isText) == isText, "the whole input")
        let size = Int(input.first ?? 0) % 9 + 1
        var stream = UTF8Stream()
        var isGood = true
        for start in stride(from: 0, to: input.count, by: size) where isGood {
            isGood = input[start..<min(start + size, input.count)].withUnsafeBytes { stream.take($0) }
        }
        require((isGood && stream.isComplete) == isText, "pieces of \(size)")
    }
}

/// Checks that an agreement is within the bounds of RFC 7692 for any offer and any response.
enum ExtensionTarget {
    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        _ = ExtensionList(text)
        for agreement in [DeflateAgreement.chosen(from: text)?.agreement, DeflateAgreement.negotiated(by: text)] {
            guard let agreement else { continue }
            _ = MessageInflater(contextTakeover: agreement.incomingContextTakeover)
            require(ExtensionList(text) != nil, "an accepted extension was in a valid list")
        }
    }
}

/// Checks that a request is admitted only with the token, and only from an allowed origin.
enum UpgradeTarget {
    private static let token = "0123456789abcdef"
    private static let origin = "https://app.example"

    static func run(_ input: [UInt8]) {
        let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        func line(_ number: Int) -> String? { lines.indices.contains(number) ? lines[number] : nil }
        var request = UpgradeRequest()
        request.path = line(0) ?? ""
        request.origin = line(1)
        request.authorization = line(2)
        request.subprotocols = Array((line(3) ?? "").split(separator: ",").map(String.init).prefix(32))
        request.query = Array(lines.dropFirst(4).prefix(32))
        guard let policy else { fatalError("the policy cannot be created") }
        guard case .admitted(let facts, _) = policy.evaluate(request, unavailableReason: nil) else { return }
        require(request.path == "/", "the path")
        require(facts.principal == "kiosk", "the token's owner")
        let shown = [request.authorization, line(3)].compactMap(\.self) + request.query
        require(
            shown.contains { $0.contains(token) || $0.contains("MDEyMzQ1Njc4OWFiY2RlZg") },
            "somebody showed the token"
        )
        guard let text = request.origin else { return }
        require((try? WebOrigin(text)) == (try? WebOrigin(origin)), "the origin \(text)")
    }

    private static let policy: UpgradePolicy? = {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        guard let allowed = try? WebOrigin(origin) else { return nil }
        configuration.origins = [allowed]
        configuration.queryTokens = true
        configuration.principals = [WebSocketPrincipal("kiosk", token: .text(token))]
        guard let tokens = try? PrincipalTokens(reading: configuration.principals) else { return nil }
        return UpgradePolicy(configuration, tokens: tokens)
    }()
}
