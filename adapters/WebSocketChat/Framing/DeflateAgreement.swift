/// How the messages of a connection may be compressed, as one of its sides sees it.
struct DeflateAgreement: Equatable {
    /// Whether our messages may refer to those before.
    var outgoingKeepsContext = true
    /// How far back they refer at most, as a power of 2.
    var outgoingWindowBits = 15
    /// Whether the peer's messages may refer to those before.
    var incomingKeepsContext = true

    /// The longest list that the library reads without hanging up.
    static let listLimit = 254

    /// What a server agrees to.
    ///
    /// Declined is what has an unknown or wrong parameter, and an offer without any when others follow: the library would
    /// refuse the request for the second.
    ///
    /// - Parameter offers: the header of a client, which offers what it likes best first.
    /// - Returns: which of the offers of this extension it is, and what it means; `nil` when messages are not compressed.
    static func chosen(from offers: String) -> (place: Int, agreement: DeflateAgreement)? {
        let all = ExtensionList(offers)?.members.filter { $0.name == DeflateParameters.extensionName } ?? []
        for (place, offer) in all.enumerated() {
            guard let parameters = DeflateParameters(offer.parameters, isAnswer: false),
                !parameters.isBare || place == all.count - 1
            else { continue }
            let agreement = DeflateAgreement(
                outgoingKeepsContext: !parameters.serverForgets,
                outgoingWindowBits: parameters.serverWindowBits ?? 15,
                incomingKeepsContext: !parameters.clientForgets
            )
            return (place, agreement)
        }
        return nil
    }

    /// What a client has agreed on with its server.
    ///
    /// - Parameter answer: the header of the server's answer.
    /// - Returns: `nil` when the connection is to be failed.
    static func told(by answer: String) -> DeflateAgreement? {
        guard let members = ExtensionList(answer)?.members, members.count == 1, let member = members.first,
            member.name == DeflateParameters.extensionName,
            let parameters = DeflateParameters(member.parameters, isAnswer: true)
        else { return nil }
        return DeflateAgreement(
            outgoingKeepsContext: !parameters.clientForgets,
            outgoingWindowBits: parameters.clientWindowBits ?? 15,
            incomingKeepsContext: !parameters.serverForgets
        )
    }
}

/// The parameters of `permessage-deflate` in one offer or answer (RFC 7692, 7.1).
struct DeflateParameters: Equatable {
    static let extensionName = "permessage-deflate"
    private static let windowBits = 8...15

    /// `server_no_context_takeover`: the server's messages do not refer to those before.
    var serverForgets = false
    /// `client_no_context_takeover`: the client's do not.
    var clientForgets = false
    /// `server_max_window_bits`: how far back the server's messages refer at most, as a power of 2.
    var serverWindowBits: Int?
    /// `client_max_window_bits`; `nil` also for an offer to use what the server likes.
    var clientWindowBits: Int?
    /// Whether there is none at all.
    let isBare: Bool

    /// - Parameter isAnswer: whether a server says so, which must not leave the client's window open.
    /// - Returns: `nil` for what is unknown, comes twice or has a wrong value: such an offer is declined (RFC 7692, 7.1), such an
    ///   answer fails the connection.
    init?(_ parameters: [ExtensionList.Parameter], isAnswer: Bool) {
        isBare = parameters.isEmpty
        var seen: Set<String> = []
        for parameter in parameters {
            guard seen.insert(parameter.name).inserted, take(parameter, isAnswer: isAnswer) else { return nil }
        }
    }

    private mutating func take(_ parameter: ExtensionList.Parameter, isAnswer: Bool) -> Bool {
        switch (parameter.name, parameter.value) {
        case ("server_no_context_takeover", nil): serverForgets = true
        case ("client_no_context_takeover", nil): clientForgets = true
        case ("client_max_window_bits", nil): return !isAnswer
        case ("server_max_window_bits", let value?):
            serverWindowBits = DeflateParameters.bits(value)
            return serverWindowBits != nil
        case ("client_max_window_bits", let value?):
            clientWindowBits = DeflateParameters.bits(value)
            return clientWindowBits != nil
        default: return false
        }
        return true
    }

    private static func bits(_ text: String) -> Int? {
        guard let bits = Int(text), windowBits.contains(bits), String(bits) == text else { return nil }
        return bits
    }
}

/// What the header `Sec-WebSocket-Extensions` lists (RFC 6455, 9.1).
struct ExtensionList: Equatable {
    struct Parameter: Equatable {
        let name: String
        let value: String?
    }

    struct Member: Equatable {
        let name: String
        let parameters: [Parameter]
    }

    let members: [Member]

    /// Reads tokens between `,`, `;`, `=` and blanks.
    ///
    /// - Returns: `nil` for everything else: quoted values, which nobody needs here, and what the library could understand in
    ///   another way than we do.
    init?(_ header: String) {
        var members: [Member] = []
        for text in header.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            // Empty members are allowed in every list (RFC 9110, 5.6.1).
            if parts.count == 1, parts[0].allSatisfy({ $0 == UInt8(ascii: " ") }) { continue }
            let name = ExtensionList.trimmed(parts[0])
            guard HeaderField.isToken(name) else { return nil }
            var parameters: [Parameter] = []
            for part in parts.dropFirst() {
                guard let parameter = ExtensionList.parameter(part) else { return nil }
                parameters.append(parameter)
            }
            members.append(Member(name: name, parameters: parameters))
        }
        self.members = members
    }

    private static func parameter(_ text: Substring.UTF8View) -> Parameter? {
        let halves = trimmed(text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init
        )
        guard halves.allSatisfy(HeaderField.isToken), let name = halves.first else { return nil }
        return Parameter(name: name, value: halves.count == 2 ? halves[1] : nil)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let blank = UInt8(ascii: " ")
        let head = text.drop { $0 == blank }
        let end = head.lastIndex { $0 != blank }.map { head.index(after: $0) } ?? head.startIndex
        return String(decoding: head[..<end], as: UTF8.self)
    }
}
