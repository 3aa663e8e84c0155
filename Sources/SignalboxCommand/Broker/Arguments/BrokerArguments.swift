import ArgumentParser
import MQTTPush
import SignalboxCore

/// The options for connecting and logging in to a broker. No option takes a secret as its value, because other users
/// can see a process's arguments.
struct BrokerArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The broker: mqtt://host or mqtt://host:port, ws://host/path for a WebSocket, mqtts:// or wss:// for TLS, "
                + "unix:/path. Further URLs are brokers of the same cluster, to try in turn.",
            valueName: "url"
        )
    )
    var urls: [String]

    @Option(name: [.customShort("u"), .customLong("user")], help: "The user name for the broker.")
    var user: String?

    @Option(help: ArgumentHelp("The environment variable that holds the password.", valueName: "name"))
    var passwordEnv: String?

    @Option(
        help: ArgumentHelp("The file that holds the password.", valueName: "path"),
        completion: .file()
    )
    var passwordFile: String?

    // Kept flat: a debug build of the argument parser validates nested groups again for each level, which makes the start slow.
    @OptionGroup var transport: TransportArguments

    @OptionGroup var proxy: ProxyArguments

    @OptionGroup var headers: HeaderArguments

    @OptionGroup var client: ClientArguments

    @OptionGroup var will: WillArguments

    @OptionGroup var tls: TLSArguments

    @Option(help: ArgumentHelp("The client's identity for a pre-shared key.", valueName: "text"))
    var pskIdentity: String?

    @Option(
        help: ArgumentHelp("The environment variable that holds the pre-shared key, in hexadecimal.", valueName: "name")
    )
    var pskEnv: String?

    @Option(
        help: ArgumentHelp("The file that holds the pre-shared key, in hexadecimal.", valueName: "path"),
        completion: .file()
    )
    var pskFile: String?

    @Flag(help: "Accept a key shorter than 16 bytes, which is weak.")
    var pskAllowShort = false

    @Flag(help: "Use MQTT 3.1.1 instead of 5.")
    var v311 = false

    @Flag(help: "Retry if the first connection fails; without it, that is an error.")
    var retry = false

    /// The MQTT version.
    var version: MQTTVersion { v311 ? .v311 : .v5 }

    /// Returns the configuration for a source without a session.
    func source(_ name: SourceName, topics: [MQTTTopic]) throws(ValidationError) -> MQTTPushConfiguration {
        try applied { .withoutSession(source: name, broker: $0, topics: topics) }
    }

    /// Returns the configuration for a publisher.
    func publisher(_ name: SourceName) throws(ValidationError) -> MQTTPublisherConfiguration {
        try applied { MQTTPublisherConfiguration(source: name, broker: $0) }
    }

    /// Checks that the files of the options can be read.
    func checkFiles() throws(CommandFailure) {
        let files = [("--password-file", passwordFile), ("--psk-file", pskFile)]
        try FileOptions.check(tls.files + proxy.files + headers.files + files)
    }

    /// Returns a client's configuration with the options.
    ///
    /// - Parameter make: Returns the configuration of a client of this broker.
    private func applied<Client: BrokerClientSettings>(
        _ make: (MQTTBroker) -> Client
    ) throws(ValidationError) -> Client {
        let brokers = try brokers()
        guard let first = brokers.first else { throw ValidationError("there is no broker; add mqtt://host") }
        var client = make(first)
        client.furtherBrokers = Array(brokers.dropFirst())
        try transport.apply(to: &client, of: brokers)
        try applyProxyAndHeaders(to: &client, of: brokers)
        client.version = version
        client.security = try security(of: first)
        client.username = user.map(Secret.text)
        client.password = try password()
        client.firstConnectionMustSucceed = !retry
        client.remedies = remedies
        try self.client.apply(to: &client)
        client.will = try will.will(for: client.version)
        return client
    }

    private func applyProxyAndHeaders(
        to client: inout some BrokerClientSettings,
        of brokers: [MQTTBroker]
    ) throws(ValidationError) {
        if let option = headers.given, !brokers.contains(where: \.isWebSocket) {
            throw ValidationError("\(option) requires a WebSocket; write ws://host/path or wss://host/path")
        }
        client.proxy = try proxy.server()
        guard client.proxy == nil || !brokers.allSatisfy(\.isUnixSocket) else {
            throw ValidationError("--proxy has no effect on a Unix socket; remove it")
        }
        client.headers = try headers.headers(secretOptions: "--header-env or --header-file", MQTTHeader.init)
    }

    /// Parses the brokers' URLs. Error messages never contain a URL, because it may include a password.
    private func brokers() throws(ValidationError) -> [MQTTBroker] {
        let brokers = try urls.map { url throws(ValidationError) in
            try ValidationError.checked { try MQTTBroker(url: url) }
        }
        guard brokers.count <= 16 else { throw ValidationError("expected at most 16 brokers") }
        guard Set(brokers).count == brokers.count else { throw ValidationError("a broker is given twice; remove one") }
        guard Set(brokers.map(\.usesTLS)).count <= 1 else {
            let advice = "write mqtts:// or wss:// for all of them or for none"
            throw ValidationError("some of the brokers have TLS, but all get the same login; \(advice)")
        }
        return brokers
    }

    /// What to do about a connection that failed, in terms of these options.
    private var remedies: [BrokerRemedy: String] {
        [
            .version: v311 ? "The broker does not support MQTT 3.1.1: remove --v311" : "Add --v311 for MQTT 3.1.1",
            .credentials: user == nil
                ? "Add --user with --password-env or --password-file, or change the broker's access rules"
                : "Check --user and the password of --password-env or --password-file, and the broker's access rules",
            .address: "The broker has moved: use its new URL",
            .authority: "Name the file of its authority with --ca",
            .identity: "Name a certificate with --cert and its key with --key",
            .preSharedKey: "Check --psk-identity and the key of --psk-env or --psk-file",
            .shortKey: "or add --psk-allow-short",
            .proxyLogin: ProxyArguments.loginNames,
            .topics: "Change --topic or the broker's access rules",
        ]
    }

    private func password() throws(ValidationError) -> Secret? {
        let password = try Secret.option("--password", variable: passwordEnv, file: passwordFile)
        guard password == nil || user != nil else {
            throw ValidationError("a password requires a user name; add --user")
        }
        return password
    }

    private func security(of broker: MQTTBroker) throws(ValidationError) -> MQTTSecurity {
        let keyOptions = [
            ("--psk-identity", pskIdentity != nil), ("--psk-env", pskEnv != nil), ("--psk-file", pskFile != nil),
            ("--psk-allow-short", pskAllowShort),
        ].filter(\.1).map(\.0)
        if !broker.usesTLS, let option = (tls.given + keyOptions).first {
            guard let scheme = broker.secureScheme else {
                throw ValidationError("\(option) requires TLS, which a Unix socket does not have; remove it")
            }
            let port = broker.isWebSocket ? 443 : MQTTBroker.standardTLSPort
            throw ValidationError("\(option) requires TLS; write \(scheme):// (default port \(port))")
        }
        guard let option = keyOptions.first else { return broker.usesTLS ? .tls(trust, identity: identity) : .none }
        if let other = tls.given.first {
            throw ValidationError("\(option) and \(other) exclude each other: a pre-shared key replaces certificates")
        }
        let key = try Secret.option("--psk", variable: pskEnv, file: pskFile)
        guard let pskIdentity, let key else {
            throw ValidationError("use --psk-identity together with --psk-env or --psk-file")
        }
        return .preSharedKey(identity: pskIdentity, key: key, allowsShort: pskAllowShort)
    }

    private var trust: MQTTServerTrust {
        tls.insecure ? .insecure : tls.trusted.map { .authority(file: $0) } ?? .system
    }
    private var identity: MQTTIdentity? { tls.identity.map { MQTTIdentity(certificateFile: $0, keyFile: $1) } }
}

extension ValidationError {
    /// Refuses a topic that brokers refuse, some of them by closing the connection (MQTT 5.0, 1.5.4).
    ///
    /// - Parameter option: The name of the option.
    static func checkTopic(_ option: String, _ topic: String) throws(ValidationError) {
        guard topic.isBrokerText else {
            throw ValidationError("\(option) has control characters, which brokers refuse")
        }
    }
}

extension String {
    /// Whether the text has no control characters and noncharacters, which brokers may refuse (MQTT 5.0, 1.5.4).
    var isBrokerText: Bool {
        unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control && !$0.properties.isNoncharacterCodePoint
        }
    }
}

extension MQTTQoS {
    /// Parses the value of `--qos`.
    ///
    /// - Throws: `ValidationError` for any value other than 0 and 1. QoS 2 is not supported.
    static func option(_ text: String) throws -> MQTTQoS {
        guard let qos = Int(text).flatMap(MQTTQoS.init(rawValue:)) else {
            throw ValidationError("expected 0 or 1; QoS 2 cannot guarantee that nothing is lost")
        }
        return qos
    }
}
