/// The compression parameters agreed on for a connection, from the point of view of one side.
struct DeflateAgreement: Equatable {
    /// Whether outgoing messages may refer to earlier ones.
    var outgoingContextTakeover = true
    /// The size of the window for outgoing messages, in bytes as a power of 2.
    var outgoingWindowBits = 15
    /// Whether incoming messages may refer to earlier ones.
    var incomingContextTakeover = true

    /// The maximum length of the header, in bytes. The library drops connections with a longer header.
    static let listLimit = 254

    /// Selects which of a client's offers the server accepts.
    ///
    /// The server declines an offer that has an unknown or invalid parameter. It also declines an offer without
    /// parameters unless that offer is the last one, because the library would otherwise fail the request on the offer
    /// that follows.
    ///
    /// - Parameter offers: The client's header, which lists its preferred offer first.
    /// - Returns: The agreement and the position of its offer among the offers for this extension, or `nil` if the
    ///   server accepts no offer.
    static func chosen(from offers: String) -> (index: Int, agreement: DeflateAgreement)? {
        let all = ExtensionList(offers)?.members.filter { $0.name == DeflateParameters.extensionName } ?? []
        for (index, offer) in all.enumerated() {
            guard let parameters = DeflateParameters(offer.parameters, isAnswer: false),
                !parameters.isBare || index == all.count - 1
            else { continue }
            let agreement = DeflateAgreement(
                outgoingContextTakeover: !parameters.serverNoContextTakeover,
                outgoingWindowBits: parameters.serverWindowBits ?? 15,
                incomingContextTakeover: !parameters.clientNoContextTakeover
            )
            return (index, agreement)
        }
        return nil
    }

    /// Returns the agreement that follows from a server's response, or `nil` if the connection must fail.
    ///
    /// - Parameter answer: The response's header.
    static func negotiated(by answer: String) -> DeflateAgreement? {
        guard let members = ExtensionList(answer)?.members, members.count == 1, let member = members.first,
            member.name == DeflateParameters.extensionName,
            let parameters = DeflateParameters(member.parameters, isAnswer: true)
        else { return nil }
        return DeflateAgreement(
            outgoingContextTakeover: !parameters.clientNoContextTakeover,
            outgoingWindowBits: parameters.clientWindowBits ?? 15,
            incomingContextTakeover: !parameters.serverNoContextTakeover
        )
    }
}

/// The parameters of `permessage-deflate` in one offer or answer (RFC 7692, 7.1).
struct DeflateParameters: Equatable {
    static let extensionName = "permessage-deflate"
    /// What a client offers. The first offer leaves context takeover to the client. A server that requires messages
    /// without it takes the second (RFC 7692, 7.1.1.2).
    static let clientOffers = ["", "; client_no_context_takeover"]
        .map { "\(extensionName); client_max_window_bits\($0)" }.joined(separator: ", ")
    private static let windowBits = 8...15

    /// `server_no_context_takeover`: the server's messages do not refer to earlier ones.
    var serverNoContextTakeover = false
    /// `client_no_context_takeover`: the client's messages do not refer to earlier ones.
    var clientNoContextTakeover = false
    /// `server_max_window_bits`: the size of the window for the server's messages, as a power of 2.
    var serverWindowBits: Int?
    /// `client_max_window_bits`: the size of the window for the client's messages, as a power of 2. The value is also
    /// `nil` if a client offers the parameter without a value.
    var clientWindowBits: Int?
    /// Whether there are no parameters.
    let isBare: Bool

    /// Reads the parameters of an offer or an answer. Returns `nil` if one of them is unknown, repeated or invalid.
    ///
    /// Such an offer is declined (RFC 7692, 7.1), and such an answer fails the connection.
    ///
    /// - Parameter isAnswer: Whether the parameters come from a server. If so, `client_max_window_bits` requires a
    ///   value.
    init?(_ parameters: [ExtensionList.Parameter], isAnswer: Bool) {
        isBare = parameters.isEmpty
        var seen: Set<String> = []
        for parameter in parameters {
            guard seen.insert(parameter.name).inserted, take(parameter, isAnswer: isAnswer) else { return nil }
        }
    }

    private mutating func take(_ parameter: ExtensionList.Parameter, isAnswer: Bool) -> Bool {
        switch (parameter.name, parameter.value) {
        case ("server_no_context_takeover", nil): serverNoContextTakeover = true
        case ("client_no_context_takeover", nil): clientNoContextTakeover = true
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

/// A parsed `Sec-WebSocket-Extensions` header (RFC 6455, 9.1).
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

    /// Parses tokens separated by `,`, `;`, `=` and spaces.
    ///
    /// Returns `nil` for any other syntax. This includes quoted values that do not need quotes, and text that the
    /// library might parse differently.
    init?(_ header: String) {
        var members: [Member] = []
        for text in header.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            // Any list may contain empty members (RFC 9110, 5.6.1).
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
