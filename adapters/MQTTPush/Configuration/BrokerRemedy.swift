/// What an operator can do about a connection that failed. A program can replace the texts, so that they name its
/// options.
package enum BrokerRemedy: Sendable, Hashable {
    case version, credentials, limits, address, clientID, clientIDInUse, banned
    case authority, identity, preSharedKey, applicationProtocols, topics
    /// The end of a sentence about a key that is too short.
    case shortKey
    /// The names of the settings of the proxy's login, as the object of a sentence.
    case proxyLogin

    /// A sentence without its full stop, for a client whose settings are in a configuration.
    var text: String {
        switch self {
        case .version: "The broker does not support this version of MQTT: configure the other one"
        case .credentials: "Check username and password in the configuration, and the broker's access rules"
        case .limits: "The configuration exceeds the broker's limits"
        case .address: "The broker has moved: change its address in the configuration"
        case .clientID: "Check the client id in the configuration"
        case .clientIDInUse: "Another client uses the same client id: give each replica its own"
        case .banned: "The broker has banned this client: ask its operator"
        case .authority: "Name the file of its authority"
        case .identity: "Name the files of a certificate and its key"
        case .applicationProtocols:
            "It accepts none of the offered application protocols: name another one with alpn, or none"
        case .preSharedKey: "Check its identity and the key"
        case .shortKey: "or allow short keys"
        case .proxyLogin: "the proxy's username and password"
        case .topics: "Change the topics or the broker's access rules"
        }
    }
}

extension BrokerSettings {
    /// Returns the text of the remedy in the words of this client's program.
    func text(of remedy: BrokerRemedy) -> String { remedies[remedy] ?? remedy.text }
}
