import ArgumentParser
import Signalbox
import SignalboxCore
import WebSocketChat

/// The connection options of the command `connect`. No option takes a secret as its value, because other users can see
/// a process's arguments.
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

    @Option(
        help: ArgumentHelp("The file that holds a token for Authorization: Bearer.", valueName: "path"),
        completion: .file()
    )
    var bearerFile: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("The user name for Authorization: Basic.", valueName: "name")
    )
    var user: String?

    @Option(help: ArgumentHelp("The environment variable that holds the user's password.", valueName: "name"))
    var passwordEnv: String?

    @Option(
        help: ArgumentHelp("The file that holds the user's password.", valueName: "path"),
        completion: .file()
    )
    var passwordFile: String?

    @Option(
        name: .customLong("unix"),
        help: ArgumentHelp(
            "Connect to this Unix socket; the request and TLS still use the URL's host.",
            valueName: "path"
        ),
        completion: .file()
    )
    var unixSocket: String?

    @Option(help: "The header Origin, such as https://app.example; default none.")
    var origin: String?

    @Option(help: "A subprotocol to offer; may be repeated, in order of preference.")
    var subprotocol: [String] = []

    @Option(
        help: "Ping the server after this period of silence, such as 30s, or never.",
        transform: DurationChoice.init
    )
    var ping: DurationChoice?

    @Option(
        help: ArgumentHelp("How long the server has to answer a ping; default 10s.", valueName: "duration"),
        transform: { text in try ValidationError.checked { try DurationText.duration(in: text) } }
    )
    var pongWithin: Duration?

    @Flag(help: "Offer compression (RFC 7692).")
    var compression = false

    @OptionGroup var proxy: ProxyArguments

    @OptionGroup var tls: TLSArguments

    @Flag(help: "Retry if the connection cannot be made or breaks; without it, the command ends.")
    var retry = false

    /// The options with the files that they name.
    var files: [(option: String, path: String?)] {
        let option = "--header-file"
        let headers = headerFile.map { (option, try? ConnectionArguments.split($0, option).value) }
        return tls.files + headers + [
            ("--bearer-file", bearerFile), ("--password-file", passwordFile),
            ("--proxy-password-file", proxy.proxyPasswordFile),
        ]
    }

    /// Applies the options to a feed. If an option is absent, the feed's value stays unchanged. Reconnecting is the
    /// exception: the feed reconnects only if an option requests it.
    func apply(to feed: inout WebSocketFeedConfiguration) throws {
        try applyRoute(to: &feed)
        if !subprotocol.isEmpty { feed.subprotocols = subprotocol }
        feed.origin = origin ?? feed.origin
        let headers = try headers()
        let names = Set(headers.map { $0.name.lowercased() })
        feed.headers = feed.headers.filter { !names.contains($0.name.lowercased()) } + headers
        try applyAuthorization(to: &feed)
        feed.trust = tls.insecure ? .anything : tls.trusted.map { .authority(file: $0) } ?? feed.trust
        feed.identity = tls.identity.map { WebSocketIdentity(certificateFile: $0, keyFile: $1) } ?? feed.identity
        if !openMessage.isEmpty { feed.openingMessages = openMessage }
        if let ping { feed.pingAfter = ping.duration }
        guard pongWithin == nil || feed.pingAfter != nil else {
            throw ValidationError("--pong-within needs pings; change --ping never")
        }
        feed.pongWithin = pongWithin ?? feed.pongWithin
        feed.compression = compression || feed.compression
        feed.remedies = ConnectionArguments.remedies
        feed.reconnect = retry ? feed.reconnect ?? WebSocketReconnect() : nil
    }

    /// Applies `--unix` and `--proxy`, each of which replaces both of the section.
    private func applyRoute(to feed: inout WebSocketFeedConfiguration) throws {
        let server = try proxy.server()
        guard unixSocket == nil || server == nil else {
            throw ValidationError("--unix and --proxy exclude each other")
        }
        guard unixSocket != nil || server != nil else { return }
        feed.unixSocket = unixSocket
        feed.proxy = server
    }

    /// A token or login on the command line replaces that of the section, whichever it has.
    private func applyAuthorization(to feed: inout WebSocketFeedConfiguration) throws {
        let bearer = try Secret.option("--bearer", variable: bearerEnv, file: bearerFile)
        let password = try Secret.option("--password", variable: passwordEnv, file: passwordFile)
        guard password == nil || user != nil else {
            throw ValidationError("a password requires a user name; add --user")
        }
        guard bearer == nil || user == nil else {
            throw ValidationError("--user and --bearer-\(bearerEnv == nil ? "file" : "env") exclude each other")
        }
        guard bearer != nil || user != nil else { return }
        feed.bearer = bearer
        feed.login = user.map { WebSocketLogin(username: .text($0), password: password) }
    }

    private static let remedies: [FeedRemedy: String] = [
        .authority: "Check the trusted authorities (--ca)",
        .token: "Check the bearer token (--bearer-env or --bearer-file), or log in with --user",
        .missingLogin: "Add a bearer token (--bearer-env or --bearer-file), or log in with --user",
        .login: "Check --user and the password of --password-env or --password-file",
        .origin: "Check the origin (--origin)",
        .headers: "Check path and headers (--header)",
        .proxyLogin: ProxyArguments.loginNames,
    ]

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
            return WebSocketHeader(name, .file(RawArguments.textPath(value)))
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
}

/// The value of `--ping` or `--linger`: a period of silence.
struct DurationChoice: Sendable {
    /// The period, or `nil` for `never`.
    let duration: Duration?

    /// Parses a duration or the word `never`.
    init(_ text: String) throws {
        guard text != "never" else {
            duration = nil
            return
        }
        do throws(ValueTextError) {
            duration = try DurationText.duration(in: text)
        } catch {
            throw ValidationError("\(error), or 'never'")
        }
    }
}
