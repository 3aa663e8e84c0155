import NavigationChain
import SignalboxRoutes

extension ConfigurationReader {
    /// What the handler of an entry is told.
    func kind(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        switch entry.kind {
        case .schemes: schemes(entry)
        case .hosts: hosts(entry)
        case .home: home(entry)
        case .paths: paths(entry)
        case .deepLinks:
            texts(entry.value) { (scheme) throws(NavigationChainError) in
                _ = try DeepLinkHandler(schemes: [scheme]) { _ in false }
            }.map { .deepLinks($0) }
        case .externalBrowser: externalBrowser(entry)
        }
    }

    private func schemes(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let schemes = texts(entry.value) { (scheme) throws(NavigationChainError) in
            _ = try SchemeHandler(allowing: [scheme])
        }
        let dangerous = entry.mapping.optional("dangerous").map { value in
            texts(value) { (scheme) throws(NavigationChainError) in
                _ = try SchemeHandler(allowing: [], dangerous: [scheme])
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
        let url = entry.value.parsed(.badPattern) { (text) throws(URLTextError) in try URLText(text) }
        let kinds = entry.mapping.optional("kinds").map(kinds) ?? NavigationKind.followed
        guard let url, let kinds else { return nil }
        return .home(url, kinds: kinds)
    }

    private func paths(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        let written = entry.mapping.optional("hosts")
        let hosts = written.map(hostNames)
        // Which hosts these are says nothing about whether a pattern is right.
        let anyHosts = written == nil ? nil : ["shop.example"]
        let patterns = texts(entry.value) { (pattern) throws(NavigationChainError) in
            _ = try PathHandler(name: "path", patterns: [pattern], hosts: anyHosts) { _, _ in }
        }
        let kinds = entry.mapping.optional("kinds").map(kinds) ?? NavigationKind.followed
        guard let patterns, let kinds, hosts != .some(nil) else { return nil }
        return .paths(patterns, hosts: hosts.flatMap { $0 }, kinds: kinds)
    }

    private func externalBrowser(_ entry: NavigationEntry) -> NavigationHandlerSection.Kind? {
        guard let mapping = entry.value.mapping(.externalBrowser) else { return nil }
        let advice = "list the hosts whose pages stay here, such as [shop.example]"
        return mapping.required("own_hosts", advice).flatMap(hostNames).map { .externalBrowser(ownHosts: $0) }
    }

    private func hostNames(_ value: YAMLValue) -> [String]? {
        texts(value) { (host) throws(NavigationChainError) in _ = try HostHandler(hosts: [host]) }
    }

    private func ports(_ value: YAMLValue) -> HostPorts? {
        guard value.isList else {
            return value.word(of: ["any", "standard"], meaning: "a choice of ports, nor a list of them").map {
                $0 == "any" ? .any : .standard
            }
        }
        let ports = value.list()?.map { $0.integer(0...Int(UInt16.max)) } ?? []
        return ports.contains(nil) ? nil : .only(Set(ports.compactMap { $0.flatMap(UInt16.init(exactly:)) }))
    }

    private func kinds(_ value: YAMLValue) -> Set<NavigationKind>? {
        let words = NavigationKind.allCases.map(\.rawValue)
        guard let list = value.list() else { return nil }
        let kinds = list.map {
            $0.word(of: words, meaning: "a kind of navigation").flatMap(NavigationKind.init(rawValue:))
        }
        return kinds.contains(nil) ? nil : Set(kinds.compactMap { $0 })
    }

    /// A list of texts, each of which is checked where it stands.
    private func texts(_ value: YAMLValue, _ check: (String) throws(NavigationChainError) -> Void) -> [String]? {
        guard let list = value.list() else { return nil }
        let texts = list.map { element -> String? in
            guard let text = element.text() else { return nil }
            do throws(NavigationChainError) {
                try check(text)
                return text
            } catch {
                element.complain(error.detail, .badPattern)
                return nil
            }
        }
        return texts.contains(nil) ? nil : texts.compactMap { $0 }
    }
}
