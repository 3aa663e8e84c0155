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
        let written = use.runsSources ? keys.required("files", advice) : keys.optional("files")
        guard let written, let list = written.list() else { return [] }
        if list.isEmpty, use.runsSources {
            written.reportError("'files' is empty; \(advice)", .missingKey, suggestion: advice)
        }
        return list.compactMap(namedFile)
    }
}

extension ConfigurationReader {
    private static let deadlines: ClosedRange<Duration> = .milliseconds(1)...NavigationRouter.maximumDeadline

    func navigation(_ value: YAMLValue) -> NavigationSection? {
        guard let mapping = value.mapping(.navigation) else { return nil }
        let deadline = mapping.optional("handler_deadline")?.duration(ConfigurationReader.deadlines)
        let advice = "choose the decision for URLs that no handler decides: cancel, allow or download"
        let fallback = mapping.required("fallback", advice).flatMap(policy)
        guard let chain = mapping.required("chain", "list the handlers in order")?.list() else { return nil }
        var names: [String: YAMLValue] = [:]
        let handlers = chain.compactMap { handler($0, &names) }
        guard let fallback, handlers.count == chain.count else { return nil }
        let section = NavigationSection(
            chain: handlers,
            fallback: fallback,
            handlerDeadline: deadline ?? .seconds(2)
        )
        do throws(NavigationChainError) {
            _ = try section.dryRun()
            return section
        } catch {
            value.reportError(error.detail)
            return nil
        }
    }

    private func handler(_ value: YAMLValue, _ names: inout [String: YAMLValue]) -> NavigationHandlerSection? {
        guard let entry = NavigationEntry(value) else { return nil }
        let kind = kind(entry).flatMap { isBuildable($0, at: entry.value) ? $0 : nil }
        let name = name(of: entry, at: value, &names)
        guard let kind, let name else { return nil }
        return NavigationHandlerSection(kind: kind, name: name)
    }

    private func name(of entry: NavigationEntry, at value: YAMLValue, _ names: inout [String: YAMLValue]) -> String? {
        let written = entry.mapping.optional("name")
        let given = written.map { $0.text() } ?? entry.kind.standardName
        guard let name = given, isName(name, at: written ?? value) else { return nil }
        if let holder = names[name] {
            let advice = "choose another name for this one"
            (written ?? value).reportError(
                "\(holder.path) in line \(holder.line) already has the name '\(name)'; \(advice)",
                .badName
            )
            return nil
        }
        names[name] = value
        return name
    }

    /// Returns whether the handler accepts its settings.
    private func isBuildable(_ kind: NavigationHandlerSection.Kind, at value: YAMLValue) -> Bool {
        do throws(NavigationChainError) {
            _ = try NavigationHandlerSection(kind: kind, name: "handler").dryRun()
            return true
        } catch {
            value.reportError(error.detail)
            return false
        }
    }

    private func isName(_ name: String, at value: YAMLValue) -> Bool {
        do throws(NavigationChainError) {
            let handler = try SchemeHandler(allowing: [], name: name)
            _ = try NavigationRouter([handler], fallback: .cancel("unused"))
            return true
        } catch {
            value.reportError(error.detail)
            return false
        }
    }

    func policy(_ value: YAMLValue) -> NavigationPolicy? {
        value.keyword(of: NavigationPolicy.allCases.map(\.rawValue), "a decision").flatMap(
            NavigationPolicy.init(rawValue:)
        )
    }
}

extension ConfigurationReader {
    /// Returns the kind of handler of an entry, with its settings.
    func kind(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        switch entry.kind {
        case .schemes: schemes(entry)
        case .hosts: hosts(entry)
        case .home: home(entry)
        case .paths: paths(entry)
        case .deepLinks:
            texts(entry.value) {
                _ = try DeepLinkHandler(schemes: [$0]) { _ in false }
            }.map { .deepLinks($0) }
        case .externalBrowser: externalBrowser(entry)
        }
    }

    private func schemes(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let schemes = texts(entry.value) {
            _ = try SchemeHandler(allowing: [$0])
        }
        let dangerous = entry.mapping.optional("dangerous").map { value in
            texts(value) {
                _ = try SchemeHandler(allowing: [], dangerous: [$0])
            }
        }
        guard let schemes, let dangerous = dangerous ?? [] else { return nil }
        return .schemes(schemes, dangerous: dangerous)
    }

    private func hosts(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let hosts = hostNames(entry.value)
        let ports = entry.mapping.optional("ports").map(ports) ?? .any
        let policy = entry.mapping.optional("decision").map(policy) ?? .allow
        guard let hosts, let ports, let policy else { return nil }
        return .hosts(hosts, ports: ports, policy: policy)
    }

    private func home(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let url = entry.value.parsed(.badPattern) { try URLText($0) }
        let kinds = entry.mapping.optional("kinds").map(kinds) ?? NavigationKind.followed
        guard let url, let kinds else { return nil }
        return .home(url, kinds: kinds)
    }

    private func paths(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let written = entry.mapping.optional("hosts")
        let hosts = written.map(hostNames)
        // Pattern checks do not depend on the hosts, which may be invalid themselves.
        let anyHosts = written == nil ? nil : ["shop.example"]
        let patterns = texts(entry.value) {
            _ = try PathHandler(name: "path", patterns: [$0], hosts: anyHosts) { _, _ in }
        }
        let kinds = entry.mapping.optional("kinds").map(kinds) ?? NavigationKind.followed
        guard let patterns, let kinds, hosts != .some(nil) else { return nil }
        return .paths(patterns, hosts: hosts.flatMap { $0 }, kinds: kinds)
    }

    private func externalBrowser(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        guard let mapping = entry.value.mapping(.externalBrowser) else { return nil }
        let advice = "list your own hosts, such as [shop.example]"
        return mapping.required("own_hosts", advice).flatMap(hostNames).map { .externalBrowser(ownHosts: $0) }
    }

    private func hostNames(_ value: YAMLValue) -> [String]? {
        texts(value) { _ = try HostHandler(hosts: [$0]) }
    }

    private func ports(_ value: YAMLValue) -> HostPorts? {
        guard value.isList else {
            return value.keyword(of: ["any", "standard"], "a choice of ports or a list of ports").map {
                $0 == "any" ? .any : .standard
            }
        }
        let ports = value.list()?.map { $0.integer(0...Int(UInt16.max)) } ?? []
        return ports.contains(nil) ? nil : .only(Set(ports.compactMap { $0.flatMap(UInt16.init(exactly:)) }))
    }

    private func kinds(_ value: YAMLValue) -> Set<NavigationKind>? {
        let keywords = NavigationKind.allCases.map(\.rawValue)
        guard let list = value.list() else { return nil }
        let kinds = list.map {
            $0.keyword(of: keywords, "a kind of navigation").flatMap(NavigationKind.init(rawValue:))
        }
        return kinds.contains(nil) ? nil : Set(kinds.compactMap { $0 })
    }

    /// Returns a list of texts after checking each of them.
    private func texts(_ value: YAMLValue, _ check: (String) throws -> Void) -> [String]? {
        value.all { element in
            element.text().flatMap { text in element.check(.badPattern) { try check(text) } ? text : nil }
        }
    }
}

/// An entry of a navigation chain as written.
struct NavigationEntry {
    /// The kind of handler, which is one of the entry's keys.
    enum Kind: String, CaseIterable {
        case schemes
        case hosts
        case home
        case paths
        case deepLinks = "deep_links"
        case externalBrowser = "external_browser"

        /// The handler's name if the entry has none.
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

        /// The further keys of such an entry.
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
    let mapping: YAMLMapping

    /// - Returns: `nil` after an error.
    init?(_ entry: YAMLValue) {
        let kinds = Kind.allCases.map(\.rawValue)
        let known = MappingKeys.navigationHandler.keys
        guard let mapping = entry.mapping(.navigationHandler) else { return nil }
        // With `paths`, the key `hosts` restricts the paths.
        let choices = mapping.optional("paths") == nil ? kinds : kinds.filter { $0 != Kind.hosts.rawValue }
        guard let found = mapping.required(oneOf: choices, "each entry is one handler"),
            let kind = Kind(rawValue: found.key)
        else { return nil }
        self.kind = kind
        self.mapping = mapping
        value = found.value
        let allowed = [kind.rawValue, "name"] + kind.companions
        for other in mapping.entries where known.contains(other.name) && !allowed.contains(other.name) {
            let owners = Kind.allCases.filter { $0.companions.contains(other.name) }.map { "'\($0.rawValue)'" }
            other.value.reportError(
                "only \(owners.joined(separator: " and ")) can have '\(other.name)'; remove it",
                .conflictingKeys
            )
        }
    }
}
