import MQTTPush
import SignalboxCore

extension PluginSection {
    /// Who may call the plugin: one of the entries of `from` must allow it.
    var rule: AccessRule {
        .any(from.map { entry in entry.topic.map { .topic($0, source: entry.source) } ?? .source(entry.source) })
    }
}
