import ArgumentParser
import MQTTPush
import SignalboxCore
import WebSocketChat

/// The TLS options.
struct TLSArguments: ParsableArguments {
    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp("Trust only the authority in this PEM file.", valueName: "file"),
        completion: .file()
    )
    var authority: String?

    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp("The client certificate, a PEM file; requires --key.", valueName: "file"),
        completion: .file()
    )
    var certificate: String?

    @Option(
        help: ArgumentHelp("The certificate's private key, a PEM file.", valueName: "file"),
        completion: .file()
    )
    var key: String?

    @Flag(help: "Check no certificate. Anyone on the network path can then read and change all traffic.")
    var insecure = false

    /// The names of the options that the user gave.
    var given: [String] {
        [
            ("--ca", authority != nil), ("--cert", certificate != nil), ("--key", key != nil), ("--insecure", insecure),
        ].filter(\.1).map(\.0)
    }

    /// The options with the files that they name.
    var files: [(option: String, path: String?)] { [("--ca", authority), ("--cert", certificate), ("--key", key)] }

    /// The path of the authority's file.
    var trusted: String? { authority.map(RawArguments.textPath) }

    /// The paths of the client certificate and its private key.
    var identity: (certificate: String, key: String)? {
        guard let certificate, let key else { return nil }
        return (RawArguments.textPath(certificate), RawArguments.textPath(key))
    }

    func validate() throws {
        guard authority == nil || !insecure else { throw ValidationError("--ca and --insecure exclude each other") }
        guard (certificate == nil) == (key == nil) else { throw ValidationError("use --cert and --key together") }
    }
}

extension Secret {
    /// Returns the secret that is stored in a variable or a file, or `nil` if neither option was given.
    ///
    /// - Parameter option: The prefix that both options share, such as `--password`.
    /// - Throws: `ValidationError` if both options are given, or if the variable name is invalid.
    static func option(_ option: String, variable: String?, file: String?) throws(ValidationError) -> Secret? {
        guard variable == nil || file == nil else {
            throw ValidationError("\(option)-env and \(option)-file exclude each other")
        }
        if let variable { return try VariableName.secret(in: variable, option: "\(option)-env") }
        return file.map { Secret.file(RawArguments.textPath($0)) }
    }
}
