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
