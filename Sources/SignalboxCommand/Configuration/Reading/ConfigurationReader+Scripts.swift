extension ConfigurationReader {
    private static let counts = 1...1_000_000
    private static let executionTimes: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
    private static let heapSizes = (1 << 20)...(1 << 40)

    func script(_ value: YAMLValue) -> ScriptSection? {
        guard let mapping = value.mapping(.script) else { return nil }
        var section = ScriptSection()
        section.files = files(mapping)
        section.title = mapping.optional("title").flatMap(text)
        section.executionTimeLimit = mapping.optional("execution_time_limit")?.duration(
            ConfigurationReader.executionTimes
        )
        section.heapLimit = mapping.optional("heap_limit")?.size(ConfigurationReader.heapSizes)
        let places = ScriptPlace.allCases.map(\.rawValue)
        let place = mapping.optional("process")?.word(of: places, meaning: "where scripts run")
        section.process = place.flatMap(ScriptPlace.init(rawValue:))
        section.memoryLimit = mapping.optional("memory_limit")?.size((64 << 20)...(1 << 40))
        section.timerLimit = mapping.optional("timer_limit")?.integer(ConfigurationReader.counts)
        section.messagesToPage = mapping.optional("messages_to_page")?.integer(ConfigurationReader.counts)
        section.messagesWithoutListener =
            mapping.optional("messages_without_listener")?.integer(ConfigurationReader.counts)
        return section
    }

    private func files(_ mapping: YAMLMapping) -> [String] {
        let advice = "list the scripts that 'run' runs, such as files: [page.js]"
        let written = use.runsSources ? mapping.required("files", advice) : mapping.optional("files")
        guard let written, let list = written.list() else { return [] }
        if list.isEmpty, use.runsSources {
            written.complain("'files' is empty; \(advice)", .missingKey, suggestion: advice)
        }
        return list.compactMap { value in
            let path = text(value)
            if let path { lookForFile(path, named: value) }
            return path
        }
    }
}
