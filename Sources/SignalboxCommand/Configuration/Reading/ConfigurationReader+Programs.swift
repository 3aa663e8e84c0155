/// Reads the settings of the plugins that run programs.
extension ConfigurationReader {
    /// Returns the settings of the plugin `exec`.
    func exec(_ keys: YAMLMapping) -> ExecSection? {
        let written = keys.required(
            "command",
            "write the program and its arguments, such as command: [./notify.sh, now]"
        )
        let names = keys.optional("env").map { $0.all(variableName) }
        let output = keys.optional("output")?.keyword(
            ["json": ExecSection.Output.json, "text": .text, "none": .none],
            "an output"
        )
        let limit = keys.optional("max_output")?.size(1...(64 << 20))
        guard let written, let words = written.list(), let first = words.first else {
            return written.flatMap { $0.isList ? $0.refused("name a program") : nil }
        }
        let arguments = words.dropFirst().map { $0.anyText() }
        guard let program = program(first), !arguments.contains(nil) else { return nil }
        var section = ExecSection(program: program, arguments: arguments.compactMap { $0 })
        if let names { section.environment = names ?? [] }
        if let output { section.output = output }
        if let limit { section.maximumOutput = limit }
        return section
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
