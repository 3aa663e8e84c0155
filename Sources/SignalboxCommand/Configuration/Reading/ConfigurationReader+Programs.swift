import SignalboxCore

/// Reads the settings of the plugins that run programs.
extension ConfigurationReader {
    /// Returns the settings of the plugin `exec`.
    func exec(_ keys: YAMLMapping) -> ExecSection? {
        let command = command(keys)
        let output = keys.optional("output")?.keyword(
            ["json": ExecSection.Output.json, "text": .text, "none": .none],
            "an output"
        )
        let limit = maximumOutput(keys)
        guard let command else { return nil }
        var section = ExecSection(command: command)
        if let output { section.output = output }
        if let limit { section.maximumOutput = limit }
        return section
    }

    /// Returns the settings of the plugin `process`.
    func process(_ keys: YAMLMapping) -> ProcessSection? {
        let command = command(keys)
        let limit = maximumOutput(keys)
        let processes = keys.optional("processes")?.integer(1...64)
        let heartbeat = keys.optional("heartbeat")?.duration(.milliseconds(10)...(.seconds(3_600)))
        let startLimit = keys.optional("start_limit")?.duration(.milliseconds(10)...(.seconds(3_600)))
        let delays = keys.optional("restart").flatMap(restart)
        guard let command else { return nil }
        var section = ProcessSection(command: command)
        if let processes { section.processes = processes }
        if let limit { section.maximumLine = limit }
        if let heartbeat { section.heartbeat = heartbeat }
        if let startLimit { section.startLimit = startLimit }
        if let delays { (section.firstDelay, section.longestDelay) = delays }
        return section
    }

    private func restart(_ value: YAMLValue) -> (first: Duration, longest: Duration)? {
        value.mapping("restart") { keys in
            let standard = ProcessSection(command: ProgramCommand(program: ""))
            return delays(keys, first: standard.firstDelay, longest: standard.longestDelay)
        }
    }

    private func maximumOutput(_ keys: YAMLMapping) -> Int? { keys.optional("max_output")?.size(1...(64 << 20)) }

    private func command(_ keys: YAMLMapping) -> ProgramCommand? {
        let written = keys.required(
            "command",
            "write the program and its arguments, such as command: [./notify.sh, now]"
        )
        let names = keys.optional("env").map { $0.all(variableName) }
        guard let written, let words = written.list(), let first = words.first else {
            return written.flatMap { $0.isList ? $0.refused("name a program") : nil }
        }
        let arguments = words.dropFirst().map { $0.anyText() }
        guard let program = program(first), !arguments.contains(nil) else { return nil }
        var command = ProgramCommand(program: program, arguments: arguments.compactMap { $0 })
        if let names { command.environment = names ?? [] }
        command.folder = folder
        return command
    }

    /// Returns the path of a program, relative to the folder of the configuration, or a name without a slash.
    private func program(_ value: YAMLValue) -> String? {
        guard let text = value.text() else { return nil }
        return text.contains("/") ? namedFile(value) : text
    }

    private func variableName(_ value: YAMLValue) -> String? {
        guard let name = value.text() else { return nil }
        let isName = name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x5F
        }
        guard isName, !name.hasPrefix("SIGNALBOX_") else {
            return value.refused("expected the name of a variable, such as HOME; those with SIGNALBOX_ are set already")
        }
        return name
    }
}
