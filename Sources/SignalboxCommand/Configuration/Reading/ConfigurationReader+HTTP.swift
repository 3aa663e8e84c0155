import HTTPClient
import SecureTransport
import SignalboxCore

/// Reads the settings of plugins that send requests.
extension ConfigurationReader {
    /// Returns the settings of the plugin `http`.
    func http(_ keys: YAMLMapping) -> HTTPSection? {
        let url = keys.required("url", "write https://HOST/PATH or { env: NAME }").flatMap(httpURL)
        // Without a valid URL, the other keys are still read, so that their errors are reported too.
        guard let address = url ?? (try? HTTPURL("https://\(ConfigurationReader.unreadHost)/")) else { return nil }
        var section = HTTPSection(url: address)
        keys.read("method", &section.method) { $0.keyword("a method") }
        keys.read("headers", &section.headers) { headers($0, HTTPSection.Header.init) }
        keys.read("bearer", &section.bearer) { secret($0, "a token") }
        keys.read("signature", &section.signatureKey, signature)
        keys.read("trust", &section.security.trust) {
            trust($0, { .authority(file: $0) }, system: .system, anything: .insecure)
        }
        keys.read("identity", &section.security.identity) { identity($0, TLSSettings.Identity.init) }
        keys.read("connect_timeout", &section.connectTimeout) { $0.duration(.milliseconds(1)...(.seconds(60))) }
        keys.read("output", &section.output) { $0.keyword("an output") }
        keys.read("max_response", &section.maximumResponse) { $0.size(1...(64 << 20)) }
        checkHeaders(section, keys)
        guard url != nil else { return nil }
        checkSecurity(section, keys)
        return section
    }

    /// Returns a server's URL. Messages never repeat the URL, because it may contain a token.
    func httpURL(_ value: YAMLValue) -> HTTPURL? {
        guard let text = text(value, unread: "https://\(ConfigurationReader.unreadHost)/"),
            isWithoutSecret(text, "a URL with a secret", at: value)
        else { return nil }
        return value.checked { try HTTPURL(text) }
    }

    /// Returns the key of a signature.
    private func signature(_ value: YAMLValue) -> Secret? {
        value.mapping("signature") { keys in
            keys.required("key", "write key: { env: NAME } or { file: PATH }").flatMap { secret($0, "a key") }
        }
    }

    func checkHeaders(_ section: HTTPSection, _ keys: YAMLMapping) {
        guard let value = keys.optional("headers") else { return }
        guard section.headers.count <= HTTPSection.maximumHeaders else {
            return value.reportError("a request can have at most \(HTTPSection.maximumHeaders) further headers")
        }
        var names: Set<String> = []
        for header in section.headers {
            let name = header.name.lowercased()
            if let problem = problem(of: header, hasToken: section.bearer != nil) {
                value.reportError("the header \(problem)")
            } else if !names.insert(name).inserted {
                value.reportError("the header \(header.name) occurs twice", .conflictingKeys)
            }
        }
    }

    /// Returns the reason why a request cannot have a header, or `nil`. The text continues a sentence that starts with
    /// "the header".
    private func problem(of header: HTTPSection.Header, hasToken: Bool) -> String? {
        let name = header.name.lowercased()
        guard HTTPHeader.isName(name) else { return "\(header.name.debugDescription) is not a token (RFC 9110, 5.6.2)" }
        if HTTPHeader.reserved.contains(name) { return "\(header.name) belongs to the connection and cannot be set" }
        if name.hasPrefix("x-signalbox-") || name == "idempotency-key" {
            return "\(header.name) is set by Signalbox, for each action"
        }
        if name == "authorization", hasToken { return "\(header.name) is set by 'bearer'; leave out one of them" }
        if case .text(let text) = header.value.source, !HTTPHeader.isValue(text) {
            return "\(header.name) has a value with other than visible ASCII characters, or spaces at an end"
        }
        return nil
    }

    /// Reports TLS settings without TLS, and warns about what others on the network path can read.
    private func checkSecurity(_ section: HTTPSection, _ keys: YAMLMapping) {
        guard !section.url.isSecure else { return }
        for key in ["trust", "identity"] {
            keys.optional(key)?.reportError("'\(key)' requires https://", .conflictingKeys)
        }
        guard !section.url.isLocal else { return }
        let headers = section.headers.contains { !$0.value.isInline } ? keys.optional("headers") : nil
        for value in [keys.optional("bearer"), headers] {
            value?.warn("it is sent to the server unencrypted; use https://", .credentialsInClear)
        }
        keys.optional("signature")?.warn(
            "a signature hides nothing: anyone on the network path can read the actions; use https://",
            .credentialsInClear
        )
    }
}
