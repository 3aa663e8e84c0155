import MQTTPush
import SignalboxCore
import WebSocketChat

extension ConfigurationReader {
    /// Returns literal text, or the content that `{ env: NAME }` or `{ file: PATH }` refers to.
    func text(_ value: YAMLValue) -> String? {
        guard value.isMapping else { return value.text() }
        return reference(value).flatMap { content(of: $0, at: value) }
    }

    /// Returns a broker's address. Messages never repeat the address, because it may contain a password.
    func broker(_ value: YAMLValue) -> MQTTBroker? {
        text(value).flatMap { text in value.checked { try MQTTBroker(url: text) } }
    }

    /// Returns the client id that the broker uses to keep the session.
    func client(_ value: YAMLValue) -> MQTTClientID? {
        text(value).flatMap { text in value.checked { try MQTTClientID.fixed(text) } }
    }

    /// Checks that a secret exists, and returns a reference to it. The secret itself is not kept.
    ///
    /// - Parameter what: What to call the secret in messages.
    func secret(_ value: YAMLValue, _ what: String) -> Secret? {
        // Messages do not repeat the keys either, because a secret in braces, `{ WORD }`, is also a mapping.
        guard let keys = value.keys, keys.allSatisfy(["env", "file"].contains) else {
            reportSecret(what, at: value)
            return nil
        }
        guard let reference = reference(value), content(of: reference, at: value) != nil else { return nil }
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
            case (let name?, nil): return name.text().map(Secret.environment)
            case (nil, let path?): return path.text().map(Secret.file)
            default:
                return value.refused("expected either { env: NAME } or { file: PATH }", .conflictingKeys)
            }
        }
    }

    private func content(of reference: Secret, at value: YAMLValue) -> String? {
        switch reference.source {
        case .environment(let name):
            if let text = environment.variable(name), !text.isEmpty { return text }
            value.reportError("the environment variable \(name) is not set or empty", .missingVariable)
        case .file(let path):
            switch environment.content(path) {
            case .failure(let error): value.reportError("cannot read the file \(path): \(error)", .missingFile)
            case .success(let bytes):
                let line = String(validating: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
                if let line, !line.isEmpty { return line }
                value.reportError("the first line of the file \(path) is empty or not UTF-8", .missingFile)
            }
        case .text(let text): return text
        }
        return nil
    }
}

extension ConfigurationReader {
    /// Returns the path of a file that a source reads. If the file is missing or unreadable, `check` reports it here.
    /// In a run, the source reports it.
    func namedFile(_ value: YAMLValue) -> String? {
        let path = text(value)
        guard let path, use == .check else { return path }
        switch environment.presence(path) {
        case .readable: break
        case .nothing:
            value.reportError(
                "the file \(path) does not exist; paths are relative to the working directory",
                .missingFile
            )
        case .folder: value.reportError("\(path) is a folder; name a file", .missingFile)
        case .unreadable: value.reportError("the file \(path) is not readable", .missingFile)
        }
        return path
    }

    /// Returns the path of a file that is created on demand. If its folder is missing, `check` reports it.
    func createdFile(_ value: YAMLValue) -> String? {
        let path = text(value)
        guard let path, use == .check else { return path }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if environment.presence(path) == .folder {
            value.reportError("\(path) is a folder; name a file", .missingFile)
        } else if environment.presence(folder) != .folder {
            value.reportError(
                "the folder \(folder) of the file does not exist; paths are relative to the working directory",
                .missingFile
            )
        }
        return path
    }
}

/// Warns about secrets that other users can read.
extension ConfigurationReader {
    /// Warns about a login that is sent to the broker unencrypted. This includes logins without a password, because the
    /// user name may be a token.
    func checkLogin(_ push: MQTTPushConfiguration, _ keys: YAMLMapping) {
        guard !push.broker.usesTLS, !push.broker.isLocal else { return }
        (keys.optional("password") ?? keys.optional("username"))?.warn(
            "it is sent to the broker unencrypted; use mqtts://",
            .credentialsInClear
        )
    }

    /// Warns about tokens that are sent to the server unencrypted. A header whose value is a reference is treated as a
    /// secret.
    func checkTokens(_ feed: WebSocketFeedConfiguration, _ keys: YAMLMapping) {
        guard !feed.url.isSecure, !feed.url.isLocal else { return }
        let headers = feed.headers.contains { !$0.value.isInline } ? keys.optional("headers") : nil
        for value in [keys.optional("bearer"), headers] {
            value?.warn("it is sent to the server unencrypted; use wss://", .credentialsInClear)
        }
    }

    /// Warns about a secret file that every user on this machine can read. There is no warning about group access,
    /// because services share files that way.
    func checkFilePermissions(_ path: String, at value: YAMLValue) {
        guard environment.isOpenToOthers(path) else { return }
        value.warn("every user of this machine can read \(path); run chmod o-r on it", .readableSecret)
    }
}
