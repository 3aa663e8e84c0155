/// The options that users of other clients and of earlier versions type, with what to write instead.
enum FamiliarOptions {
    /// Returns what to write instead of an option. Each text starts with an option of at least one command, and those that
    /// fit best come first.
    ///
    /// - Parameters:
    ///   - name: The unknown option as typed, without its value.
    ///   - command: The command, or `nil` if the option is the first argument.
    static func replacements(for name: String, in command: String?) -> [String] {
        replacements["\(command ?? "signalbox") \(name)"] ?? replacements[name] ?? []
    }

    /// Returns a sentence about an option for which there is no single replacement, or `nil`.
    static func sentence(about name: String, in command: String?) -> String? {
        sentences["\(command ?? "signalbox") \(name)"] ?? sentences[name]
    }

    // A name after a command applies to that command only. Of several replacements, the first that the command has
    // applies.
    private static let replacements: [String: [String]] = [
        // mosquitto_sub, mosquitto_pub and mosquitto_rr
        "-m": ["--body"], "--message": ["--body"], "-f": ["--file"], "-l": ["--lines", "--listen"],
        "--stdin-line": ["--lines"], "--stdin-file": ["--file -"],
        "-t": ["--topic"], "-q": ["--qos", "--quiet"], "-r": ["--retain"], "-R": ["--retained ignore"],
        "-C": ["--count"], "-W": ["--timeout"], "-N": ["--no-newline"], "-i": ["--id"], "-I": ["--id"],
        "--id-prefix": ["--id"], "-u": ["--user"], "--username": ["--user"], "-P": ["--password-env"],
        "--pw": ["--password-file"], "--cafile": ["--ca"], "--tls-alpn": ["--alpn"],
        "-d": ["--log-level debug"], "--debug": ["--log-level debug"],
        "-c": ["--keep-session"], "--disable-clean-session": ["--keep-session"], "--will-payload": ["--will-body"],
        "--filter-out": ["--exclude"], "--repeat-delay": ["--interval"], "publish -x": ["--session-expiry"],
        "request -x": ["--session-expiry"], "subscribe -U": ["--unsubscribe"], "subscribe -E": [],
        // websocat and wscat, some with letters that mean something else in mosquitto's clients
        "-k": ["--keepalive", "--insecure"], "-n": ["--linger never"], "-x": ["--session-expiry", "--body"],
        "-s": ["--subprotocol", "--listen", "--file -"], "-1": ["--count 1"], "--one-message": ["--count 1"],
        "--max-messages": ["--count"], "-b": ["--binary"], "-E": ["--exit-after-input"],
        "--exit-on-eof": ["--exit-after-input"], "-U": ["--no-input"], "--unidirectional-reverse": ["--no-input"],
        "--no-close": ["--linger never"], "--no-check": ["--insecure"], "-H": ["--header"], "-o": ["--origin"],
        "--preamble": ["--body"], "--execute": ["--body"], "--basic-auth": ["--user"], "--auth": ["--user"],
        "--protocol": ["--subprotocol"], "--ping-interval": ["--ping"], "--ping-timeout": ["--pong-within"],
        "--close-status-code": ["--close-code"], "--socks5": ["--proxy"], "--server-mode": ["--listen"],
        "--oneshot": ["--count"],
        // Every program
        "-V": ["--version"], "signalbox -v": ["--version"],
        // Names of earlier versions
        "--payload": ["--body"], "--reconnect": ["--retry"], "--tls-ca": ["--ca"],
    ]

    private static let unixURL = "Write the broker's Unix socket as a URL: unix:/path."

    private static let sentences = [
        "subscribe --unix": unixURL, "publish --unix": unixURL, "request --unix": unixURL,
        "-A": "The system chooses the local address of a connection.",
        "--ws": "A URL with ws://, or wss:// for TLS, selects a WebSocket.",
        "--psk": "Use --psk-env or --psk-file, because other users can see a key in an argument.",
        "connect -l": "Use 'serve --listen' to run a server.",
        "connect -w": "Use --linger to wait a fixed time after the last line, or --count to wait for answers.",
        "connect --wait": "Use --linger to wait a fixed time after the last line, or --count to wait for answers.",
        "connect -t": "Messages are text, unless --binary is given.",
        "connect --text": "Messages are text, unless --binary is given.",
        "connect --unidirectional": "Redirect stdout to /dev/null to send messages only.",
        "publish -n": "Use --body '' for an empty message.", "request -n": "Use --body '' for an empty message.",
        "publish --null-message": "Use --body '' for an empty message.",
        "publish -D": "Use --content-type, --text, --user-property and others, or --will-... for a will.",
        "publish --property": "Use --content-type, --text, --user-property and others, or --will-... for a will.",
        "request -D": "Use --content-type, --expiry, --text or --user-property, or --will-... for a will.",
        "request --property": "Use --content-type, --expiry, --text or --user-property, or --will-... for a will.",
    ]
}
