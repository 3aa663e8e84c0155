import MQTTPush
import SignalboxCore
import WebSocketChat

/// Text as a configuration gives it.
enum GivenText {
    case text(String)
    /// The text is in a variable or file that is not read, or that is missing, which was already reported.
    case unread
    /// The value has an error, which was already reported.
    case invalid
}

extension ConfigurationReader {
    /// The host that stands in for that of a URL that is not read. RFC 2606 reserves its domain.
    static let unreadHost = "unread.invalid"

    /// Returns literal text, or the content that `{ env: NAME }` or `{ file: PATH }` refers to.
    func text(_ value: YAMLValue) -> String? { text(value, unread: "unread") }

    /// Returns literal text, or the content that `{ env: NAME }` or `{ file: PATH }` refers to.
    ///
    /// - Parameter standIn: Valid text that stands in for content that is not read, so that nothing else is reported
    ///   because of it.
    func text(_ value: YAMLValue, unread standIn: String) -> String? {
        switch given(value) {
        case .text(let text): text
        case .unread: standIn
        case .invalid: nil
        }
    }

    /// Reads text, or the content that `{ env: NAME }` or `{ file: PATH }` refers to.
    func given(_ value: YAMLValue) -> GivenText {
        guard value.isMapping else { return value.text().map(GivenText.text) ?? .invalid }
        guard let reference = reference(value) else { return .invalid }
        return readsSecrets ? content(of: reference, at: value).map(GivenText.text) ?? .unread : .unread
    }

    /// Returns the client id that the broker uses to keep the session.
    func client(_ value: YAMLValue) -> MQTTClientID? {
        text(value).flatMap { text in value.checked { try MQTTClientID.fixed(text) } }
    }

    /// Checks the form of a reference to a secret and, if secrets are read, that the secret exists. Returns the
    /// reference. The secret itself is not kept.
    ///
    /// - Parameter what: What to call the secret in messages.
    func secret(_ value: YAMLValue, _ what: String) -> Secret? {
        // Messages do not repeat the keys either, because a secret in braces, `{ WORD }`, is also a mapping.
        guard let keys = value.keys, keys.allSatisfy(["env", "file"].contains) else {
            reportSecret(what, at: value)
            return nil
        }
        guard let reference = reference(value) else { return nil }
        // A missing secret is reported here, and nothing else should be reported because of it.
        if readsSecrets { _ = content(of: reference, at: value) }
        if case .file(let path) = reference.source { checkFilePermissions(path, at: value) }
        return reference
    }

    /// Reports that the file contains a secret as literal text. The report does not repeat the secret.
    func reportSecret(_ what: String, at value: YAMLValue) {
        let forms = "{ env: NAME } or { file: PATH }"
        value.reportError(
            "\(what) must not be written into a configuration; write \(forms)",
            .secretInFile,
            advice: forms
        )
    }

    private func reference(_ value: YAMLValue) -> Secret? {
        value.mapping("reference") { keys in
            switch (keys.optional("env"), keys.optional("file")) {
            case (let name?, nil): return variable(name).map(Secret.environment)
            case (nil, let path?): return path.text().flatMap { resolved($0, at: path) }.map(Secret.file)
            default:
                return value.refused("expected either { env: NAME } or { file: PATH }", .conflictingKeys)
            }
        }
    }

    /// Returns the name of an environment variable. Messages do not repeat it, because it may be the secret itself.
    private func variable(_ value: YAMLValue) -> String? {
        guard let name = value.characters, VariableName.isName(name) else {
            return value.refused(
                "expected the name of an environment variable, of letters, digits and _, such as CHAT_TOKEN",
                .badName
            )
        }
        return name
    }

    private func content(of reference: Secret, at value: YAMLValue) -> String? {
        switch reference.source {
        case .environment(let name):
            if let text = environment.variable(name), !text.isEmpty { return text }
            value.reportError("the environment variable \(name) is not set or empty", .missingVariable)
        case .file(let path):
            switch environment.content(path) {
            case .failure(let error):
                value.reportError("cannot read the file \(shown(path)): \(error)", .missingFile)
            case .success(let bytes):
                let line = String(validating: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
                if let line, !line.isEmpty { return line }
                value.reportError("the first line of the file \(path) is empty or not UTF-8", .missingFile)
            }
        case .text(let text): return text
        }
        return nil
    }

    /// Returns the path of a secret's file for a message. If the path looks like the secret itself and not even its
    /// first folder exists, only its beginning is shown.
    private func shown(_ path: String) -> String {
        let given = path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
        let root = given.hasPrefix("/") ? "/" : folder
        let first = given.split(separator: "/").first { $0 != "." } ?? ""
        guard SecretForm.matches(given), environment.presence(root + first) == .nothing else { return path }
        return "\(given.prefix(4))… (shortened, because it looks like the secret itself; write the path of a file)"
    }
}

/// Reads the paths of files. A path is relative to the folder of the configuration.
extension ConfigurationReader {
    /// Returns a path that can be opened from the working directory.
    private func resolved(_ path: String, at value: YAMLValue) -> String? {
        guard !path.unicodeScalars.contains("\0") else {
            return value.refused("a path cannot contain a NUL character; the system would end it there")
        }
        guard !RawArguments.isEscaped(path) else {
            return value.refused("a path cannot contain the noncharacters U+FDD0 to U+FDEF; rename the file")
        }
        return path.hasPrefix("/") ? path : folder + path
    }

    /// Returns the path of a file that a source reads. If the file is missing or unreadable, `check` reports it here.
    /// In a run, the source reports it.
    func namedFile(_ value: YAMLValue) -> String? { namedFile(value, isSecret: false) }

    /// Returns the path of a file that a source reads.
    ///
    /// - Parameter isSecret: Whether the file holds a secret. `check` then only reports that it is missing if secrets
    ///   are read.
    func namedFile(_ value: YAMLValue, isSecret: Bool) -> String? {
        givenPath(value) { path in
            guard use == .check, readsSecrets || !isSecret else { return }
            switch environment.presence(path) {
            case .readable: break
            case .nothing:
                value.reportError("the file \(path) does not exist; \(ConfigurationReader.pathAdvice)", .missingFile)
            case .folder: value.reportError("\(path) is a folder; name a file", .missingFile)
            case .unreadable: value.reportError("the file \(path) is not readable", .missingFile)
            }
        }
    }

    /// Returns the path of a file that is created on demand. If its folder is missing, `check` reports it.
    func createdFile(_ value: YAMLValue) -> String? {
        givenPath(value) { path in
            guard use == .check else { return }
            let slash = path.lastIndex(of: "/")
            let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            if environment.presence(path) == .folder {
                value.reportError("\(path) is a folder; name a file", .missingFile)
            } else if environment.presence(folder) != .folder {
                value.reportError(
                    "the folder \(folder) of the file does not exist; \(ConfigurationReader.pathAdvice)",
                    .missingFile
                )
            }
        }
    }

    private static let pathAdvice = "paths are relative to the configuration's folder"

    /// - Parameter check: Checks the path. It is not called if the path is not read.
    private func givenPath(_ value: YAMLValue, _ check: (String) -> Void) -> String? {
        switch given(value) {
        case .text(let text):
            guard let path = resolved(text, at: value) else { return nil }
            check(path)
            return path
        case .unread: return "unread"
        case .invalid: return nil
        }
    }
}

/// Warns about secrets that other users can read.
extension ConfigurationReader {
    /// Warns about logins and secret headers that are sent to a broker unencrypted. This includes logins without a password,
    /// because the user name may be a token. A header whose value is a reference is treated as a secret.
    func checkLogin(_ push: MQTTPushConfiguration, _ keys: YAMLMapping) {
        // A local host of a remote proxy is the proxy's own machine.
        let isProxyRemote = push.proxy.map { !$0.isLocal } ?? false
        let exposed = push.brokers.first { broker in
            guard !broker.usesTLS, !broker.isUnixSocket, broker.host != ConfigurationReader.unreadHost else {
                return false
            }
            return isProxyRemote || !broker.isLocal
        }
        guard let exposed else { return }
        let scheme = exposed.secureScheme ?? "mqtts"
        let hasSecretHeader = push.headers.contains { !$0.value.isInline }
        let login = keys.optional("password") ?? keys.optional("username")
        for value in [login, hasSecretHeader ? keys.optional("headers") : nil] {
            value?.warn("it is sent to the broker unencrypted; use \(scheme)://", .credentialsInClear)
        }
    }

    /// Warns about tokens and logins that are sent to the server unencrypted. A header whose value is a reference is treated as a
    /// secret.
    func checkTokens(_ feed: WebSocketFeedConfiguration, _ keys: YAMLMapping) {
        guard !feed.url.isSecure, !feed.isLocal else { return }
        let headers = feed.headers.contains { !$0.value.isInline } ? keys.optional("headers") : nil
        let login = keys.optional("password") ?? keys.optional("username")
        for value in [keys.optional("bearer"), login, headers] {
            value?.warn("it is sent to the server unencrypted; use wss://", .credentialsInClear)
        }
    }

    /// Warns about a login that is sent to the proxy unencrypted, as all logins to proxies are.
    func checkLogin(_ proxy: (some ProxySettings)?, _ keys: YAMLMapping) {
        guard let proxy, !proxy.isLocal, proxy.host != ConfigurationReader.unreadHost else { return }
        (keys.optional("password") ?? keys.optional("username"))?.warn(
            "it is sent to the proxy unencrypted; use a login that serves no other purpose, or a proxy on this machine",
            .credentialsInClear
        )
    }

    /// Warns about a secret file that every user on this machine can read. There is no warning about group access,
    /// because services share files that way.
    func checkFilePermissions(_ path: String, at value: YAMLValue) {
        guard environment.isOpenToOthers(path) else { return }
        value.warn("every user of this machine can read \(path); run chmod o-r on it", .readableSecret)
    }
}
