import HTTPClient
import SignalboxCore

extension ConfigurationReader {
    /// The interval of metrics that a configuration may set.
    static let exportIntervals: ClosedRange<Duration> = .seconds(1)...(.seconds(3_600))

    /// Reads `otlp`: the collector's URL, or a mapping with it.
    func otlp(_ value: YAMLValue) -> OTLPSection? {
        guard value.isMapping else { return httpURL(value).flatMap { section(HTTPSection(url: $0), at: value) } }
        return value.mapping("otlp") { keys in
            let url = keys.required("url", "write http://127.0.0.1:4318 or { env: NAME }").flatMap(httpURL)
            // Without a valid URL, the other keys are still read, so that their errors are reported too.
            guard let address = url ?? (try? HTTPURL("https://\(ConfigurationReader.unreadHost)/")) else { return nil }
            var http = HTTPSection(url: address)
            keys.read("headers", &http.headers) { headers($0, HTTPSection.Header.init) }
            checkHeaders(http, keys)
            checkType(http, keys)
            guard var section = section(http, at: keys.value) else { return nil }
            keys.read("sample", &section.sample) { $0.share() }
            keys.read("interval", &section.interval) { $0.duration(ConfigurationReader.exportIntervals) }
            keys.read("queue", &section.queue) { $0.integer(1...100_000) }
            keys.read("service", &section.service, serviceName)
            guard url != nil else { return nil }
            return section
        }
    }

    private func section(_ http: HTTPSection, at value: YAMLValue) -> OTLPSection? {
        value.checked { try OTLPSection(http) }
    }

    private func serviceName(_ value: YAMLValue) -> String? {
        guard let name = text(value) else { return nil }
        guard (1...255).contains(name.utf8.count) else { return value.refused("expected 1 to 255 bytes") }
        return name
    }

    /// Reports a content type, which is fixed, and warns about secrets that others on the network path can read.
    private func checkType(_ http: HTTPSection, _ keys: YAMLMapping) {
        guard let value = keys.optional("headers") else { return }
        if http.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            value.reportError("the header Content-Type is set by Signalbox")
        }
        guard !http.url.isSecure, !http.url.isLocal, http.headers.contains(where: { !$0.value.isInline }) else {
            return
        }
        value.warn("it is sent to the collector unencrypted; use https://", .credentialsInClear)
    }
}
