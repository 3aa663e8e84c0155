import HTTPActions
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    /// Reads `listeners`, to which sources refer.
    func readListeners(_ value: YAMLValue) {
        guard let entries = value.anyMapping("{ web: { port: 8080 } }")?.entries else { return }
        for entry in entries {
            // A listener with errors is known too, so that no source that names it is reported.
            var listener = WebListenerConfiguration(port: 0)
            let port = entry.value.mapping("listener") { keys -> Int? in
                let port = keys.required("port", "0 lets the system choose")?.integer(0...Int(UInt16.max))
                listener.port = port.flatMap(UInt16.init(exactly:)) ?? 0
                readAddress(of: keys, into: &listener)
                readLimits(of: keys, into: &listener)
                return port
            }
            if port != nil { entry.value.check { try listener.validate() } }
            locations.listeners[entry.name] = listener
        }
    }

    private func readAddress(of keys: YAMLMapping, into listener: inout WebListenerConfiguration) {
        keys.read("address", &listener.address) { text($0, unread: "127.0.0.1") }
        keys.read("identity", &listener.identity) { identity($0, WebSocketIdentity.init) }
        if listener.identity == nil, !WebSocketServerConfiguration.isLocal(listener.address) {
            keys.optional("address")?.warn(
                "other machines can reach it, and without 'identity' anyone on the network path can read all traffic and "
                    + "tokens; add the server's certificate, or let a proxy on this machine terminate TLS",
                .openAddress
            )
        }
    }

    private func readLimits(of keys: YAMLMapping, into listener: inout WebListenerConfiguration) {
        let (times, counts) = (ConfigurationReader.connectionTimes, 1...1_000_000)
        keys.read("connections", &listener.connections) { $0.integer(counts) }
        keys.read("http_connections", &listener.httpConnections) { $0.integer(counts) }
        keys.read("http_connections_per_address", &listener.httpConnectionsPerAddress) { $0.integer(counts) }
        keys.read("http_requests", &listener.httpRequests) { $0.integer(counts) }
        keys.read("http_timeout", &listener.httpTimeout) { $0.duration(times) }
        keys.read("http_lifetime", &listener.httpLifetime) { $0.duration(.seconds(1)...(.seconds(7 * 86_400))) }
        keys.read("keep_alive", &listener.keepAlive) { $0.duration(times) }
        keys.read("handshake_timeout", &listener.handshakeTimeout) { $0.duration(times) }
        keys.read("ping_after", &listener.pingAfter) { $0.duration(times) }
        keys.read("silence_limit", &listener.silenceLimit) { $0.duration(.seconds(1)...(.seconds(2 * 3_600))) }
        keys.read("waiting_bytes", &listener.waitingBytes) { $0.size(ConfigurationReader.waitingSizes) }
        keys.read("all_waiting_bytes", &listener.allWaitingBytes) { $0.size((1 << 10)...(64 << 30)) }
    }

    /// Reports sources of which only one could have a path on the listener that they share.
    func checkListeners(of sources: [SourceSection]) {
        var paths: [String: [String: SourceName]] = [:]
        var routes: [String: [(pattern: URLPattern, value: SourceName)]] = [:]
        for source in sources {
            if let chat = source.kind.chat, let name = chat.listener?.name {
                if let other = paths[name]?[chat.server.path] {
                    report("the path \(chat.server.path)", of: other, on: name, at: source.name)
                }
                paths[name, default: [:]][chat.server.path] = source.name
            }
            guard let http = source.kind.http, let name = http.listener.name else { continue }
            for route in http.server.routes {
                let known = routes[name, default: []]
                do throws(RoutePatternError) {
                    _ = try RouteTable(known + [(pattern: route.pattern, value: source.name)])
                    routes[name, default: []].append((pattern: route.pattern, value: source.name))
                } catch {
                    let other = known.first { $0.pattern.text == error.otherPattern }?.value ?? source.name
                    report("the route \(route.pattern.text)", of: other, on: name, at: source.name)
                }
            }
        }
    }

    private func report(_ what: String, of other: SourceName, on listener: String, at source: SourceName) {
        guard other != source else { return }
        locations.sources[source]?.reportError(
            "\(what) is also that of '\(other)' on the listener '\(listener)'; give each source its own paths",
            .shadowedRoute
        )
    }

    /// Returns the listener that a source names, or the one that its own keys describe.
    ///
    /// - Parameter replaced: The source's keys that a named listener replaces.
    /// - Returns: `nil` if the source has neither, which is reported.
    func listener(_ keys: YAMLMapping, replacing replaced: [String]) -> ListenerSection? {
        guard let value = keys.optional("listener") else {
            let advice = "0 lets the system choose; or name one of the 'listeners' with 'listener'"
            var own = WebListenerConfiguration(port: 0)
            let port = keys.required("port", advice)?.integer(0...Int(UInt16.max)).flatMap(UInt16.init(exactly:))
            readAddress(of: keys, into: &own)
            guard let port else { return nil }
            own.port = port
            return ListenerSection(name: nil, configuration: own)
        }
        let found = replaced.compactMap { key in keys.optional(key).map { (key, $0) } }
        for (key, value) in found {
            value.reportError(
                "the listener decides about '\(key)'; set it there, or remove 'listener'",
                .conflictingKeys
            )
        }
        guard let name = value.text() else { return nil }
        if let listener = locations.listeners[name] { return ListenerSection(name: name, configuration: listener) }
        let known = locations.listeners.keys.sorted()
        return value.refused(name, among: known, .unknownSource) { advice in
            "there is no listener '\(name.prefix(80))'\(advice); 'listeners' has: \(known.isEmpty ? "none" : known.joined(separator: ", "))"
        }
    }
}
