import COpenSSL
import SignalboxCore

/// Asks a server for a WebSocket, and checks its answer (RFC 6455, 4.1). This is a pure machine: the owner sends and
/// reads the bytes.
///
/// The owner sends ``head``, and passes each piece of the answer to ``receive(_:)`` until the answer is complete. The
/// result does not depend on how the answer is divided into pieces.
package struct WebSocketUpgrade: Sendable {
    /// The maximum number of bytes in the server's answers together.
    package static let answerLimit = 32_768

    /// The bytes of the request. They may contain credentials.
    package let head: [UInt8]
    /// What the server has agreed to, once its answer is complete.
    package private(set) var agreement: UpgradeAgreement?
    private let offer: UpgradeOffer
    private let expectedAccept: [UInt8]
    private var answer = UpgradeAnswer()
    private var line: [UInt8] = []
    private var received = 0
    private var problem: UpgradeProblem?

    /// Makes a request with a random key. May block, because the values of headers may be in files.
    package init(_ request: WebSocketRequest) throws(UpgradeProblem) {
        var generator = SystemRandomNumberGenerator()
        try self.init(request, nonce: (0..<16).map { _ in .random(in: .min ... .max, using: &generator) })
    }

    /// - Parameter nonce: 16 random bytes (RFC 6455, 4.1).
    init(_ request: WebSocketRequest, nonce: [UInt8]) throws(UpgradeProblem) {
        let key = Base64.encoded(Bytes(nonce))
        guard let accept = WebSocketUpgrade.accept(for: key) else { throw .digestUnavailable }
        var text = "GET \(request.path) HTTP/1.1\r\nHost: \(request.host)\r\n"
        text += "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        text += "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n"
        if !request.subprotocols.isEmpty {
            text += "Sec-WebSocket-Protocol: \(request.subprotocols.joined(separator: ", "))\r\n"
        }
        if let extensions = request.extensions { text += "Sec-WebSocket-Extensions: \(extensions)\r\n" }
        for header in request.headers { text += "\(header.name): \(try header.read())\r\n" }
        head = Array("\(text)\r\n".utf8)
        offer = UpgradeOffer(
            subprotocols: request.leavesSubprotocolToOwner ? nil : request.subprotocols,
            hasExtensions: request.extensions != nil
        )
        expectedAccept = Array(accept.utf8)
    }

    /// Returns the value that proves that the server has read the key, or `nil` if OpenSSL lacks SHA-1.
    static func accept(for key: String) -> String? {
        let text = Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(text, text.count, &digest, &length, EVP_sha1(), nil) == 1 else {
            ERR_clear_error()
            return nil
        }
        return Base64.encoded(Bytes(Array(digest.prefix(Int(length)))))
    }

    /// Takes a piece of the answer.
    ///
    /// - Returns: How many bytes of the piece belong to the answer if this piece completes it, or `nil` if more must be
    ///   read. The bytes behind the answer are the server's first frames.
    /// - Throws: ``UpgradeProblem``, also in each later call.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(UpgradeProblem) -> Int? {
        if let problem { throw problem }
        do throws(UpgradeProblem) {
            for (index, byte) in bytes.enumerated() {
                received += 1
                guard received <= WebSocketUpgrade.answerLimit else { throw .answerTooLong }
                guard byte == UInt8(ascii: "\n") else {
                    try append(byte)
                    continue
                }
                if try endLine() { return index + 1 }
            }
            return nil
        } catch {
            problem = error
            throw error
        }
    }

    private mutating func append(_ byte: UInt8) throws(UpgradeProblem) {
        // A carriage return is only valid before the line feed.
        guard line.last != UInt8(ascii: "\r") else { throw answer.malformed }
        let isControl = byte < 0x20 || byte == 0x7F
        guard !isControl || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") else { throw answer.malformed }
        line.append(byte)
        // Another kind of server is recognised by its first bytes, as it may never send a line feed.
        guard answer.status == nil, line.count <= UpgradeAnswer.version.count else { return }
        guard UpgradeAnswer.version.starts(with: line) else { throw .notHTTP }
    }

    /// - Returns: Whether the line ends an answer that opens the WebSocket.
    private mutating func endLine() throws(UpgradeProblem) -> Bool {
        // A recipient may accept a line feed alone (RFC 9112, 2.2).
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line.removeAll(keepingCapacity: true) }
        guard let status = answer.status else {
            try answer.readStatus(line)
            return false
        }
        guard line.isEmpty else {
            try answer.readHeader(line)
            return false
        }
        guard status == 101 else {
            // An interim answer. The final one follows (RFC 9110, 15.2).
            answer = UpgradeAnswer()
            return false
        }
        agreement = try answer.check(expectedAccept, offer)
        return true
    }
}

/// What a server has agreed to with its answer.
package struct UpgradeAgreement: Sendable, Hashable {
    /// The subprotocol that the server selected.
    package let subprotocol: String?
    /// The extensions and their parameters, as the server's headers list them.
    package let extensions: String?
}

/// What a request offers, against which the answer is checked.
private struct UpgradeOffer: Sendable {
    /// The subprotocols of which one must be selected. An empty list allows none, and `nil` allows any or none.
    let subprotocols: [String]?
    let hasExtensions: Bool
}

/// The head of a server's answer (RFC 9112, 4 and 5).
private struct UpgradeAnswer: Sendable {
    static let version = Array("HTTP/1.".utf8)

    /// The status, once the first line is complete. It is below 200, because any other ends the attempt.
    private(set) var status: Int?
    private var upgradesToWebSocket: Bool?
    private var namesUpgrade = false
    private var extensions: [ArraySlice<UInt8>] = []
    private var accepts: [ArraySlice<UInt8>] = []
    private var subprotocols: [ArraySlice<UInt8>] = []

    /// The problem of a line that is not well-formed.
    var malformed: UpgradeProblem { status == nil ? .notHTTP : .invalidAnswer }

    mutating func readStatus(_ line: [UInt8]) throws(UpgradeProblem) {
        let start = UpgradeAnswer.version.count
        // The version's last digit, a space, three digits, and nothing or a space with a reason.
        guard line.count >= start + 5, UpgradeAnswer.isDigit(line[start]), line[start + 1] == UInt8(ascii: " ") else {
            throw .notHTTP
        }
        let digits = line[(start + 2)..<(start + 5)]
        let rest = line[(start + 5)...]
        guard digits.allSatisfy(UpgradeAnswer.isDigit), rest.isEmpty || rest.first == UInt8(ascii: " ") else {
            throw .notHTTP
        }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard (100..<600).contains(number) else { throw .notHTTP }
        guard number < 200 else { throw .status(number) }
        // HTTP/1.0 knows no upgrade (RFC 9110, 7.8).
        guard number != 101 || line[start] != UInt8(ascii: "0") else { throw .notHTTP }
        status = number
    }

    mutating func readHeader(_ line: [UInt8]) throws(UpgradeProblem) {
        // A line that begins with a space would continue the one before it, which is obsolete (RFC 9112, 5.2).
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPText.isToken(line[..<colon]) else {
            throw .invalidAnswer
        }
        let value = UpgradeAnswer.trimmed(line[(colon + 1)...])
        switch String(decoding: line[..<colon].map(HTTPText.lowercase), as: UTF8.self) {
        case "upgrade":
            let isWebSocket = UpgradeAnswer.isEqual(value, "websocket")
            upgradesToWebSocket = isWebSocket && upgradesToWebSocket != false
        case "connection":
            let options = value.split(separator: UInt8(ascii: ",")).map(UpgradeAnswer.trimmed)
            namesUpgrade = namesUpgrade || options.contains { UpgradeAnswer.isEqual($0, "upgrade") }
        case "sec-websocket-accept": accepts.append(value)
        case "sec-websocket-protocol": subprotocols.append(value)
        case "sec-websocket-extensions": if !value.isEmpty { extensions.append(value) }
        default: break
        }
    }

    /// Checks a complete answer with the status 101 (RFC 6455, 4.1).
    func check(_ expectedAccept: [UInt8], _ offer: UpgradeOffer) throws(UpgradeProblem) -> UpgradeAgreement {
        guard upgradesToWebSocket == true else { throw .upgradeHeader }
        guard namesUpgrade else { throw .connectionHeader }
        // Neither header may come twice (RFC 6455, 11.3.3 and 11.3.4).
        guard accepts.count == 1, accepts.first?.elementsEqual(expectedAccept) == true else { throw .acceptHeader }
        guard extensions.isEmpty || offer.hasExtensions else { throw .extensions }
        guard subprotocols.count < 2 else { throw .subprotocol }
        let selected = subprotocols.first.map { String(decoding: $0, as: UTF8.self) }
        if let offered = offer.subprotocols {
            guard selected.map(offered.contains) ?? offered.isEmpty else { throw .subprotocol }
        }
        // Several headers mean the same as one that joins them (RFC 6455, 9.1).
        let joined = extensions.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
        return UpgradeAgreement(subprotocol: selected, extensions: joined.isEmpty ? nil : joined)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isEqual(_ value: ArraySlice<UInt8>, _ lowercase: String) -> Bool {
        value.lazy.map(HTTPText.lowercase).elementsEqual(lowercase.utf8)
    }

    /// The text without the spaces and tabs around it.
    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
