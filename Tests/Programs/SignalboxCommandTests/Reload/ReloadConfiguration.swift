/// A configuration with one part that a test changes at a time.
struct ReloadConfiguration: Sendable {
    let broker: String
    var topics = ["{ pattern: 'push/{device}/{action}' }"]
    /// What the source has beside `mqtt`.
    var source = ""
    /// Further sources, each a line with its indentation.
    var sources: [String] = []
    /// What the plugin `log` has beside its action and ledger.
    var options = "timeout: 30s"
    var rule = "{ source: push }"
    /// Further plugins.
    var plugins: [String] = []
    /// Further lines.
    var rest: [String] = []

    var text: String {
        var lines = ["sources:", "  push:", "    mqtt:", "      broker: \(broker)", "      client_id: reload-test"]
        lines.append("      topics: [ \(topics.joined(separator: ", ")) ]")
        if !source.isEmpty { lines.append("    \(source)") }
        lines += sources + ["plugins:"]
        lines.append("  - { action: log, use: file, path: handled.jsonl, from: [ \(rule) ], \(options) }")
        return (lines + plugins.map { "  - { \($0) }" } + rest).joined(separator: "\n") + "\n"
    }

    func with(_ change: (inout ReloadConfiguration) -> Void) -> ReloadConfiguration {
        var changed = self
        change(&changed)
        return changed
    }
}
