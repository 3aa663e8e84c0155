import AppScheme
import MQTTPush
import SignalboxCore

extension PluginSection {
    /// Who may call the plugin: one of the entries of `from` must allow it.
    var rule: AccessRule { .any(from.map(\.rule)) }
}

extension AccessSection {
    fileprivate var rule: AccessRule {
        switch part {
        case .all: .source(source)
        case .topic(let filter): .topic(filter, source: source)
        case .scheme(let scheme): .link(scheme: scheme, source: source)
        case .host(let host): .universalLink(host: host, source: source)
        }
    }
}
