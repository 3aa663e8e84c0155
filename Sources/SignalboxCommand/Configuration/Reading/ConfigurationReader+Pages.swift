import JSBridge
import NavigationChain
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func script(_ value: YAMLValue, of name: SourceName, _ limits: MessageLimits) -> ScriptSource? {
        value.mapping("script") { keys in
            let counts = 1...1_000_000
            var source = ScriptSource(page: JavaScriptCoreConfiguration(source: name, scripts: []))
            source.page.limits = limits
            source.files = files(keys)
            keys.read("title", &source.page.title, text)
            keys.read("execution_time_limit", &source.page.executionTimeLimit) {
                $0.duration(.milliseconds(1)...(.seconds(3_600)))
            }
            keys.read("heap_limit", &source.page.heapLimit) { $0.size((1 << 20)...(1 << 40)) }
            keys.read("timer_limit", &source.page.timerLimit) { $0.integer(counts) }
            keys.read("messages_to_page", &source.page.messagesToPage) { $0.integer(counts) }
            keys.read("messages_without_listener", &source.page.messagesWithoutListener) { $0.integer(counts) }
            keys.read("process", &source.process) { $0.keyword("a kind of process") }
            keys.read("memory_limit", &source.memoryLimit) { $0.size((64 << 20)...(1 << 40)) }
            return source
        }
    }

    private func files(_ keys: YAMLMapping) -> [String] {
        let advice = "list the scripts that 'run' executes, such as files: [page.js]"
        guard let written = keys.optional("files") else {
            if use == .check {
                let text = "it has no scripts, so 'signalbox run' receives nothing from it; \(advice)"
                keys.value.warn(text, .pageWithoutScripts, advice: advice)
            }
            return []
        }
        guard let list = written.list() else { return [] }
        if list.isEmpty, use.runsSources {
            written.reportError("'files' is empty; \(advice)", .missingKey, advice: advice)
        }
        return list.compactMap(namedFile)
    }
}

extension ConfigurationReader {
    /// Returns a navigation chain that opens nothing. The reason for each decision says what would have been opened.
    func navigation(_ value: YAMLValue) -> NavigationRouter? {
        value.mapping("navigation") { keys in
            let chain = keys.required("chain", "list the handlers in order")
            let advice = "choose the decision for URLs that no handler decides: cancel, allow or download"
            let fallback: NavigationPolicy? = keys.required("fallback", advice)?.keyword("a decision")
            var deadline: Duration = .seconds(2)
            keys.read("handler_deadline", &deadline) {
                $0.duration(.milliseconds(1)...NavigationRouter.maximumDeadline)
            }
            var paths = URLPathRules.strict
            keys.read("paths", &paths) {
                $0.keyword(["strict": .strict, "lenient": .lenient], "which paths a URL may have")
            }
            var names: [String: YAMLValue] = [:]
            guard let handlers = chain?.all({ handler($0, &names) }), let fallback else { return nil }
            return value.checked {
                try NavigationRouter(
                    handlers,
                    fallback: NavigationDecision(fallback, reason: "no handler decided"),
                    handlerDeadline: deadline,
                    paths: paths,
                    clock: UntimedClock()
                )
            }
        }
    }

    private func handler(_ value: YAMLValue, _ names: inout [String: YAMLValue]) -> (any NavigationHandler)? {
        value.mapping("navigationHandler") { keys in
            guard let entry = NavigationEntry(keys) else { return nil }
            let name = name(of: entry, &names)
            // Even if the name is invalid, the other settings are still checked.
            let handler = handler(entry, named: name ?? "handler")
            return name == nil ? nil : handler
        }
    }

    private func name(of entry: NavigationEntry, _ names: inout [String: YAMLValue]) -> String? {
        let value = entry.name ?? entry.keys.value
        let given = entry.name.map { $0.text() } ?? entry.kind.standardName
        guard let name = given, isName(name, at: value) else { return nil }
        if let holder = names[name] {
            let advice = "choose another name for this one"
            return value.refused(
                "\(holder.path) in line \(holder.line) already has the name '\(name)'; \(advice)",
                .badName
            )
        }
        names[name] = entry.keys.value
        return name
    }

    private func isName(_ name: String, at value: YAMLValue) -> Bool {
        value.check {
            let handler = try SchemeHandler(allowing: [], name: name)
            _ = try NavigationRouter([handler], fallback: .cancel("unused"))
        }
    }
}

/// Reads the handlers in a navigation chain.
extension ConfigurationReader {
    private func handler(_ entry: NavigationEntry, named name: String) -> (any NavigationHandler)? {
        switch entry.kind {
        case .schemes: schemes(entry, name)
        case .hosts: hosts(entry, name)
        case .home: home(entry, name)
        case .paths: paths(entry, name)
        case .deepLinks: deepLinks(entry, name)
        case .externalBrowser: externalBrowser(entry, name)
        }
    }

    private func schemes(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let schemes = texts(entry.value) { _ = try SchemeHandler(allowing: [$0]) }
        let dangerous = entry.keys.optional("dangerous").map { value in
            texts(value) { _ = try SchemeHandler(allowing: [], dangerous: [$0]) }
        }
        guard let schemes, let dangerous = dangerous ?? [] else { return nil }
        return entry.value.checked { try SchemeHandler(allowing: schemes, dangerous: dangerous, name: name) }
    }

    private func hosts(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let hosts = hostNames(entry.value)
        let ports = entry.keys.optional("ports").map(ports) ?? .any
        let policy: NavigationPolicy? = entry.keys.optional("decision").map { $0.keyword("a decision") } ?? .allow
        guard let hosts, let ports, let policy else { return nil }
        let decision = NavigationDecision(policy, reason: "the host is listed")
        return entry.value.checked { try HostHandler(hosts: hosts, ports: ports, decision: decision, name: name) }
    }

    private func home(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let url = entry.value.parsed(.badPattern) { try URLText($0) }
        guard let kinds = kinds(entry), let url else { return nil }
        return entry.value.checked { DryRunHandler(try HomePageHandler(home: url, kinds: kinds, name: name) {}) }
    }

    private func paths(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let written = entry.keys.optional("hosts")
        let hosts = written.map(hostNames)
        // Checking a pattern does not depend on the hosts, which may themselves be invalid.
        let anyHosts = written == nil ? nil : ["shop.example"]
        let patterns = texts(entry.value) {
            _ = try PathHandler(name: "path", patterns: [$0], hosts: anyHosts) { _, _ in }
        }
        guard let kinds = kinds(entry), let patterns, hosts != .some(nil) else { return nil }
        return entry.value.checked {
            let handler = try PathHandler(name: name, patterns: patterns, hosts: hosts ?? nil, kinds: kinds) { _, _ in }
            return DryRunHandler(handler)
        }
    }

    private func deepLinks(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let schemes = texts(entry.value) { _ = try DeepLinkHandler(schemes: [$0]) { _ in false } }
        guard let schemes else { return nil }
        return entry.value.checked { DryRunHandler(try DeepLinkHandler(schemes: schemes, name: name) { _ in true }) }
    }

    private func externalBrowser(_ entry: NavigationEntry, _ name: String) -> (any NavigationHandler)? {
        let hosts = entry.value.mapping("externalBrowser") { keys in
            keys.required("own_hosts", "list your own hosts, such as [shop.example]").flatMap(hostNames)
        }
        guard let hosts else { return nil }
        return entry.value.checked { DryRunHandler(try ExternalBrowserHandler(ownHosts: hosts, name: name) { _ in }) }
    }

    private func hostNames(_ value: YAMLValue) -> [String]? {
        texts(value) { _ = try HostHandler(hosts: [$0]) }
    }

    private func ports(_ value: YAMLValue) -> HostPorts? {
        guard value.isList else {
            return value.keyword(["any": .any, "standard": .standard], "a choice of ports or a list of ports")
        }
        return value.all { $0.integer(0...Int(UInt16.max)).flatMap(UInt16.init(exactly:)) }.map { .only(Set($0)) }
    }

    private func kinds(_ entry: NavigationEntry) -> Set<NavigationKind>? {
        guard let value = entry.keys.optional("kinds") else { return NavigationKind.followed }
        return value.all { $0.keyword("a kind of navigation") }.map { Set($0) }
    }

    /// Checks each text in a list and returns the texts.
    private func texts(_ value: YAMLValue, _ check: (String) throws -> Void) -> [String]? {
        value.all { element in
            element.text().flatMap { text in element.check(.badPattern) { try check(text) } ? text : nil }
        }
    }
}

/// An entry in a navigation chain, as it appears in the file.
struct NavigationEntry {
    /// The kind of handler. One of the entry's keys names it.
    enum Kind: String, CaseIterable {
        case schemes
        case hosts
        case home
        case paths
        case deepLinks = "deep_links"
        case externalBrowser = "external_browser"

        /// The handler's name if the entry does not contain one.
        var standardName: String {
            switch self {
            case .schemes: "scheme"
            case .hosts: "host"
            case .home: "homePage"
            case .paths: "path"
            case .deepLinks: "deepLink"
            case .externalBrowser: "externalBrowser"
            }
        }

        /// The other keys that an entry of this kind may contain.
        fileprivate var companions: [String] {
            switch self {
            case .schemes: ["dangerous"]
            case .hosts: ["ports", "decision"]
            case .home: ["kinds"]
            case .paths: ["hosts", "kinds"]
            case .deepLinks, .externalBrowser: []
            }
        }
    }

    let kind: Kind
    /// The value of the key that names the kind.
    let value: YAMLValue
    /// The value of the key `name`, if there is one.
    let name: YAMLValue?
    let keys: YAMLMapping

    /// - Returns: The entry, or `nil` if it has an error.
    init?(_ keys: YAMLMapping) {
        let kinds = Kind.allCases.map(\.rawValue)
        let written = (kinds + ["dangerous", "ports", "decision", "kinds"]).compactMap { key in
            keys.optional(key).map { (key: key, value: $0) }
        }
        name = keys.optional("name")
        // If an entry has the key `paths`, its key `hosts` does not name the kind. It restricts the paths instead.
        let choices = keys.optional("paths") == nil ? kinds : kinds.filter { $0 != Kind.hosts.rawValue }
        guard let found = keys.required(oneOf: choices, "each entry is one handler"),
            let kind = Kind(rawValue: found.key)
        else { return nil }
        self.kind = kind
        self.keys = keys
        value = found.value
        for other in written where other.key != kind.rawValue && !kind.companions.contains(other.key) {
            let owners = Kind.allCases.filter { $0.companions.contains(other.key) }.map { "'\($0.rawValue)'" }
            other.value.reportError(
                "only \(owners.joined(separator: " and ")) can have '\(other.key)'; remove it",
                .conflictingKeys
            )
        }
    }
}
