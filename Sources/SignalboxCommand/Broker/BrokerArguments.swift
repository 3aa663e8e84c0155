import ArgumentParser
import MQTTPush
import SignalboxCore

/// The options for connecting and logging in to a broker. No secret is an argument, as other users can see those.
struct BrokerArguments: ParsableArguments {
    @Option(help: "The user name for the broker.")
    var user: String?

    @Option(help: ArgumentHelp("The environment variable that holds the password.", valueName: "name"))
    var passwordEnv: String?

    @Option(help: ArgumentHelp("The file that holds the password.", valueName: "path"))
    var passwordFile: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp("Trust only the authority in this PEM file; for mqtts://.", valueName: "file")
    )
    var authority: String?

    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp("The client certificate, a PEM file; requires --key.", valueName: "file")
    )
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's private key, a PEM file.", valueName: "file"))
    var key: String?

    @Flag(help: "Check no certificate. Anyone on the network path can then read and change all traffic.")
    var insecure = false

    @Option(
        name: .customLong("psk-identity"),
        help: ArgumentHelp("The client's identity for a pre-shared key.", valueName: "text")
    )
    var preSharedKeyIdentity: String?

    @Option(
        name: .customLong("psk-env"),
        help: ArgumentHelp("The environment variable that holds the pre-shared key, in hexadecimal.", valueName: "name")
    )
    var preSharedKeyVariable: String?

    @Option(
        name: .customLong("psk-file"),
        help: ArgumentHelp("The file that holds the pre-shared key, in hexadecimal.", valueName: "path")
    )
    var preSharedKeyFile: String?

    @Flag(name: .customLong("psk-allow-short"), help: "Accept a key shorter than 16 bytes, which is weak.")
    var allowsShortPreSharedKey = false

    @Flag(name: .customLong("v311"), help: "Use MQTT 3.1.1 instead of 5.")
    var usesV311 = false

    @Flag(help: "Retry if the first connection fails; without it, that is an error.")
    var retry = false

    /// Returns the broker and the connection options, validated as far as possible without a connection.
    ///
    /// - Parameter url: The broker's URL. Never part of an error message, because it may contain a password.
    func connectionOptions(at url: String) throws(ValidationError) -> BrokerConnectionOptions {
        let broker = try BrokerArguments.checked { () throws(MQTTPushError) in try MQTTBroker(url: url) }
        return BrokerConnectionOptions(
            broker: broker,
            version: usesV311 ? .v311 : .v5,
            security: try security(of: broker),
            user: user,
            password: try password(),
            retries: retry
        )
    }

    /// Warns on stderr about the effect of `--insecure`.
    func warn() {
        guard insecure else { return }
        let danger = "anyone on the network path can read and change all traffic"
        DiagnosticOutput.shared.report("--insecure: no certificate is checked, so \(danger)")
    }

    /// Converts the adapter's validation errors.
    static func checked<Value>(_ make: () throws(MQTTPushError) -> Value) throws(ValidationError) -> Value {
        do throws(MQTTPushError) {
            return try make()
        } catch {
            throw ValidationError(error.detail)
        }
    }

    private func password() throws(ValidationError) -> Secret? {
        guard passwordEnv == nil || passwordFile == nil else {
            throw ValidationError("--password-env and --password-file exclude each other")
        }
        let password = try BrokerArguments.secret(in: passwordEnv, passwordFile, option: "--password-env")
        guard password == nil || user != nil else {
            throw ValidationError("a password requires a user name; add --user")
        }
        return password
    }

    private static func secret(in variable: String?, _ file: String?, option: String) throws(ValidationError) -> Secret?
    {
        if let variable { return try VariableName.secret(in: variable, option: option) }
        return file.map(Secret.file)
    }

    private func security(of broker: MQTTBroker) throws(ValidationError) -> MQTTSecurity {
        let given = [
            ("--tls-ca", authority != nil), ("--cert", certificate != nil), ("--key", key != nil),
            ("--insecure", insecure),
        ].filter(\.1).map(\.0)
        let keyOptions = [
            ("--psk-identity", preSharedKeyIdentity != nil), ("--psk-env", preSharedKeyVariable != nil),
            ("--psk-file", preSharedKeyFile != nil), ("--psk-allow-short", allowsShortPreSharedKey),
        ].filter(\.1).map(\.0)
        if !broker.usesTLS, let option = (given + keyOptions).first {
            throw ValidationError("\(option) requires TLS; write mqtts:// (default port 8883)")
        }
        if let option = keyOptions.first {
            if let other = given.first {
                throw ValidationError(
                    "\(option) and \(other) exclude each other: a pre-shared key replaces certificates"
                )
            }
            return try preSharedKey()
        }
        guard broker.usesTLS else { return .none }
        return .tls(try trust(), identity: try identity())
    }

    private func preSharedKey() throws(ValidationError) -> MQTTSecurity {
        guard preSharedKeyVariable == nil || preSharedKeyFile == nil else {
            throw ValidationError("--psk-env and --psk-file exclude each other")
        }
        let secret = try BrokerArguments.secret(in: preSharedKeyVariable, preSharedKeyFile, option: "--psk-env")
        guard let preSharedKeyIdentity, let secret else {
            throw ValidationError("use --psk-identity together with --psk-env or --psk-file")
        }
        return .preSharedKey(identity: preSharedKeyIdentity, key: secret, allowsShort: allowsShortPreSharedKey)
    }

    private func trust() throws(ValidationError) -> MQTTServerTrust {
        guard authority == nil || !insecure else { throw ValidationError("--tls-ca and --insecure exclude each other") }
        return insecure ? .insecure : authority.map { .authority(file: $0) } ?? .system
    }

    private func identity() throws(ValidationError) -> MQTTIdentity? {
        switch (certificate, key) {
        case (let certificate?, let key?): return MQTTIdentity(certificateFile: certificate, keyFile: key)
        case (nil, nil): return nil
        default: throw ValidationError("use --cert and --key together")
        }
    }
}

/// A broker, its credentials and the options of the connection.
struct BrokerConnectionOptions: Sendable, Hashable {
    let broker: MQTTBroker
    let version: MQTTVersion
    let security: MQTTSecurity
    let user: String?
    let password: Secret?
    /// Whether the first connection is retried if it fails.
    let retries: Bool

    /// Applies the options to a source's configuration.
    func apply(to push: inout MQTTPushConfiguration) {
        push.version = version
        push.security = security
        push.username = user.map(Secret.text)
        push.password = password
        push.firstConnectionMustSucceed = !retries
    }

    /// Applies the options to a publisher's configuration.
    func apply(to publisher: inout MQTTPublisherConfiguration) {
        publisher.version = version
        publisher.security = security
        publisher.username = user.map(Secret.text)
        publisher.password = password
        publisher.firstConnectionMustSucceed = !retries
    }
}

/// Parses the option `--qos`.
enum QoSOption {
    /// - Returns: At least once if the option is absent.
    /// - Throws: `ValidationError` for a number other than 0 and 1. QoS 2 is not supported.
    static func parse(_ number: Int?) throws(ValidationError) -> MQTTQoS {
        guard let number else { return .atLeastOnce }
        guard let qos = MQTTQoS(rawValue: number) else {
            throw ValidationError("--qos must be 0 or 1; QoS 2 cannot guarantee that nothing is lost")
        }
        return qos
    }
}
