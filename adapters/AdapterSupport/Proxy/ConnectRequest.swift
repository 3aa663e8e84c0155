import SignalboxCore

/// A request for a tunnel from an HTTP proxy (RFC 9110, 9.3.6), and the head of its answer (RFC 9112, 4 and 5).
struct ConnectRequest: Sendable {
    private static let version = Array("HTTP/1.".utf8)

    private let destination: ProxyDestination
    private let login: ProxyLogin?
    private var line: [UInt8] = []
    private var received = 0
    /// The status of the answer, once its first line is complete.
    private var status: Int?
    /// Whether a challenge with the scheme Basic was found, or `nil` without any challenge.
    private var offersBasic: Bool?

    init(_ destination: ProxyDestination, _ login: ProxyLogin?) {
        self.destination = destination
        self.login = login
    }

    func begin() throws(ProxyFailure) -> [UInt8] {
        var text = "CONNECT \(destination) HTTP/1.1\r\nHost: \(destination)\r\n"
        if let login {
            try login.validate(for: .http)
            let pair = Bytes(Array("\(login.user):\(login.password)".utf8))
            text += "Proxy-Authorization: Basic \(Base64.encoded(pair))\r\n"
        }
        return Array("\(text)\r\n".utf8)
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(ProxyFailure) -> ProxyHandshake.Step {
        for (index, byte) in zip(bytes.indices, bytes) {
            received += 1
            guard received <= ProxyHandshake.limit else { throw .answerTooLong }
            guard byte == UInt8(ascii: "\n") else {
                try append(byte)
                continue
            }
            if try endLine() { return .open(first: Array(bytes[(index + 1)...])) }
        }
        return .read
    }

    private mutating func append(_ byte: UInt8) throws(ProxyFailure) {
        // A carriage return is only valid before the line feed.
        guard line.last != UInt8(ascii: "\r") else { throw .invalidAnswer }
        let isControl = byte < 0x20 || byte == 0x7F
        guard !isControl || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") else { throw .invalidAnswer }
        line.append(byte)
        // Another kind of server is recognised by its first bytes, as it may never send a line feed.
        guard status == nil, line.count <= ConnectRequest.version.count else { return }
        guard ConnectRequest.version.starts(with: line) else { throw .invalidAnswer }
    }

    /// - Returns: Whether the line ends an answer that opens the tunnel.
    private mutating func endLine() throws(ProxyFailure) -> Bool {
        defer { line = [] }
        // A recipient may accept a line feed alone (RFC 9112, 2.2).
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let status else {
            self.status = try parsedStatus()
            return false
        }
        guard line.isEmpty else {
            readHeader()
            return false
        }
        switch status {
        case 100..<200:
            // An interim answer. The final one follows (RFC 9110, 15.2).
            self.status = nil
            return false
        // Only the status counts: a tunnel has no content, whatever the headers say.
        case 200..<300: return true
        // Some proxies answer a wrong login with 401.
        case 401, 407: throw loginFailure
        default: throw .status(status)
        }
    }

    private var loginFailure: ProxyFailure {
        if offersBasic == false { return .loginNotSupported }
        return login == nil ? .loginRequired : .loginRefused
    }

    private func parsedStatus() throws(ProxyFailure) -> Int {
        let start = ConnectRequest.version.count
        // The version's last digit, a space, three digits, and nothing or a space with a reason.
        guard line.count >= start + 5, ConnectRequest.isDigit(line[start]), line[start + 1] == UInt8(ascii: " ") else {
            throw .invalidAnswer
        }
        let digits = line[(start + 2)..<(start + 5)]
        let rest = line[(start + 5)...]
        guard digits.allSatisfy(ConnectRequest.isDigit), rest.isEmpty || rest.first == UInt8(ascii: " ") else {
            throw .invalidAnswer
        }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        // 101 would answer an upgrade, which was not requested.
        guard (100..<600).contains(status), status != 101 else { throw .invalidAnswer }
        return status
    }

    /// Notes the schemes in a header that names them (RFC 9110, 11.7.1). All other headers are ignored.
    private mutating func readHeader() {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard name == "proxy-authenticate" else { return }
        // Each challenge begins with its scheme. A parameter does not match, because an equals sign follows its name.
        let words = line[(colon + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        let hasBasic = words.contains { String(decoding: $0, as: UTF8.self).lowercased() == "basic" }
        offersBasic = (offersBasic ?? false) || hasBasic
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
