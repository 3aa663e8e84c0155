import ArgumentParser
import Signalbox
import SignalboxCore
import WebSocketChat

/// The options of `connect` for the connection. Secrets are never arguments, because other users can see those.
struct ConnectionArguments: ParsableArguments {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this on each new connection; may be repeated.", valueName: "text")
    )
    var openMessage: [String] = []

    @Option(help: ArgumentHelp("An additional request header, 'Name: value'; may be repeated.", valueName: "header"))
    var header: [String] = []

    @Option(
        help: ArgumentHelp(
            "A header with its value from an environment variable, 'Name: VARIABLE'.",
            valueName: "header"
        )
    )
    var headerEnv: [String] = []

    @Option(help: ArgumentHelp("A header with its value from a file, 'Name: PATH'.", valueName: "header"))
    var headerFile: [String] = []

    @Option(
        help: ArgumentHelp("The environment variable that holds a token for Authorization: Bearer.", valueName: "name")
    )
    var bearerEnv: String?

    @Option(help: ArgumentHelp("The file that holds a token for Authorization: Bearer.", valueName: "path"))
    var bearerFile: String?

    @Option(help: "The header Origin, such as https://app.example; default none.")
    var origin: String?

    @Option(help: "A subprotocol to offer; may be repeated, in order of preference.")
    var subprotocol: [String] = []

    @Option(help: "Ping the server after this period of silence, such as 30s, or never.")
    var ping: String?

    @Flag(help: "Offer compression (RFC 7692).")
    var compression = false

    @Option(help: ArgumentHelp("Trust only the authority in this PEM file.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The client certificate, a PEM file; requires --key.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The certificate's private key, a PEM file.", valueName: "file"))
    var key: String?

    @Flag(help: "Check no certificate. Anyone on the network path can then read and change all traffic.")
    var insecure = false

    func options(reconnects: Bool) throws -> ConnectOptions {
        var options = ConnectOptions()
        options.subprotocols = subprotocol
        options.origin = origin
        options.headers = try headers()
        options.bearer = try bearer()
        options.trust = try trust()
        options.identity = try identity()
        options.openingMessages = openMessage
        options.ping = try ping.map(ConnectionArguments.ping)
        options.compression = compression
        options.reconnects = reconnects
        return options
    }

    private func headers() throws -> [WebSocketHeader] {
        let plain = try header.map { text in
            let (name, value) = try ConnectionArguments.split(text, "--header")
            guard Redaction.redacted("\(name): \(value)") == "\(name): \(value)" else {
                let advice = "use --bearer-env, --bearer-file, --header-env or --header-file"
                throw ValidationError("--header: other users can see a secret in an argument; \(advice)")
            }
            return WebSocketHeader(name, .text(value))
        }
        let fromVariables = try headerEnv.map { text in
            let (name, value) = try ConnectionArguments.split(text, "--header-env")
            return WebSocketHeader(name, try VariableName.secret(in: value, option: "--header-env"))
        }
        let fromFiles = try headerFile.map { text in
            let (name, value) = try ConnectionArguments.split(text, "--header-file")
            return WebSocketHeader(name, .file(value))
        }
        return plain + fromVariables + fromFiles
    }

    private static func split(_ text: String, _ option: String) throws -> (name: String, value: String) {
        guard let colon = text.firstIndex(of: ":") else {
            throw ValidationError("\(option): expected a name, a colon and a value, such as 'X-Client: kiosk'")
        }
        let value = text[text.index(after: colon)...].drop { $0 == " " }
        return (String(text[..<colon]), String(value))
    }

    private func bearer() throws -> Secret? {
        guard bearerEnv == nil || bearerFile == nil else {
            throw ValidationError("--bearer-env and --bearer-file exclude each other")
        }
        return try bearerEnv.map { try VariableName.secret(in: $0, option: "--bearer-env") }
            ?? bearerFile.map(Secret.file)
    }

    private func trust() throws -> WebSocketTrust? {
        guard ca == nil || !insecure else { throw ValidationError("--ca and --insecure exclude each other") }
        return insecure ? .anything : ca.map { .authority(file: $0) }
    }

    private func identity() throws -> WebSocketIdentity? {
        switch (cert, key) {
        case (let cert?, let key?): return WebSocketIdentity(certificateFile: cert, keyFile: key)
        case (nil, nil): return nil
        default: throw ValidationError("use --cert and --key together")
        }
    }

    private static func ping(_ text: String) throws -> PingSection {
        guard text != "never" else { return .never }
        do throws(ValueTextError) {
            return .after(try DurationText.duration(in: text))
        } catch {
            throw ValidationError("--ping: \(error), or 'never'")
        }
    }
}

/// The connection options of `connect`. Absent options leave the feed's values unchanged.
struct ConnectOptions: Sendable, Hashable {
    var subprotocols: [String] = []
    var origin: String?
    var headers: [WebSocketHeader] = []
    var bearer: Secret?
    var trust: WebSocketTrust?
    var identity: WebSocketIdentity?
    var openingMessages: [String] = []
    var ping: PingSection?
    var compression = false
    var reconnects = false

    func apply(to feed: inout FeedSection) {
        if !subprotocols.isEmpty { feed.subprotocols = subprotocols }
        feed.origin = origin ?? feed.origin
        let names = Set(headers.map { $0.name.lowercased() })
        feed.headers = feed.headers.filter { !names.contains($0.name.lowercased()) } + headers
        feed.bearer = bearer ?? feed.bearer
        feed.trust = trust ?? feed.trust
        feed.identity = identity ?? feed.identity
        if !openingMessages.isEmpty { feed.openingMessages = openingMessages }
        feed.ping = ping ?? feed.ping
        feed.compression = compression || feed.compression
        if reconnects { feed.reconnect = WebSocketReconnect() }
    }
}
