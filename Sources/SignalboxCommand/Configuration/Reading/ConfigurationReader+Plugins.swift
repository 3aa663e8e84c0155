import SignalboxCore

extension ConfigurationReader {
    func plugins(_ list: [YAMLValue], sources: SourceNames) -> [PluginSection] {
        var holders: [ActionName: YAMLValue] = [:]
        return list.compactMap { value in
            let keys = ["action", "use", "path", "value", "from", "timeout"]
            guard let mapping = value.mapping(keys) else { return nil }
            let written = mapping.required("action", "it is the name the plugin is called by")
            let action = written?.parsed { (text) throws(NameError) in try ActionName(text) }
            if let action, let written {
                if let holder = holders[action] {
                    written.complain("'\(action)' is served by \(holder.path) in line \(holder.line) already")
                }
                holders[action] = holders[action] ?? value
            }
            let use = use(mapping)
            let from = access(mapping, sources: sources)
            let timeout = mapping.optional("timeout")?.duration(ConfigurationReader.timeouts)
            guard let action, let use else { return nil }
            return PluginSection(action: action, use: use, from: from, timeout: timeout)
        }
    }

    private func use(_ mapping: YAMLMapping) -> PluginUse? {
        let advice = "expected one of \(PluginUse.words.joined(separator: ", "))"
        guard let word = mapping.required("use", advice)?.word(of: PluginUse.words, meaning: "a plugin") else {
            return nil
        }
        if word != "file" { mapping.optional("path")?.complain("only 'use: file' has a path") }
        if word != "reply" { mapping.optional("value")?.complain("only 'use: reply' has a value") }
        return switch word {
        case "log": .log
        case "print": .print
        case "file":
            mapping.required("path", "say which file the lines are appended to").flatMap(text).map(PluginUse.file)
        case "fail": .fail
        case "suspend": .suspend
        case "reply":
            mapping.required("value", "say what is answered, such as value: { ok: true }").flatMap(reply)
                .map(PluginUse.reply)
        default: nil
        }
    }
}
