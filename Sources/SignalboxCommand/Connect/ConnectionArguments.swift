import ArgumentParser
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

    @OptionGroup var headers: HeaderArguments

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
        tls.files + headers.files + proxy.files + [
            ("--bearer-file", bearerFile), ("--password-file", passwordFile),
        ]
    }

    /// Applies the options to a feed. If an option is absent, the feed's value stays unchanged. Reconnecting is the
    /// exception: the feed reconnects only if an option requests it.
    func apply(to feed: inout WebSocketFeedConfiguration) throws {
        try applyRoute(to: &feed)
        if !subprotocol.isEmpty { feed.subprotocols = subprotocol }
        feed.origin = origin ?? feed.origin
        let secretOptions = "--bearer-env, --bearer-file, --header-env or --header-file"
        let headers = try headers.headers(secretOptions: secretOptions, WebSocketHeader.init)
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
        let server: WebSocketProxy? = try proxy.server()
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
