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
