import ArgumentParser
import SignalboxCore

/// The commands and options of the program, for errors about arguments. The argument parser describes them.
struct CommandTable {
    /// One command with its options.
    struct Command: Decodable {
        fileprivate let commandName: String
        fileprivate let arguments: [Argument]?
        fileprivate let subcommands: [Command]?
    }

    fileprivate struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        let kind: String
        let names: [Name]?
    }

    /// The options whose value is bytes or a file name. Every other option takes text.
    private static let rawOptions: Set<String> = [
        "--body", "-m", "--file", "-f", "--routes", "--expect", "--config",
        "--ca", "--cert", "--key", "--password-file", "--psk-file", "--bearer-file", "--header-file",
        "--proxy-password-file",
    ]
    /// The commands whose first arguments are file names, with their greatest number. The URL of `connect` is text.
    private static let fileArguments = [
        "run": Int.max, "check": .max, "bridge": .max, "connect": 2, "serve": 1, "send": 1, "explain": 1, "graph": 1,
        "navigate": 1, "dead import": 1,
    ]
    /// The commands whose server is a URL, with that URL. Users of other clients write `-h HOST` instead.
    private static let serverURLs = [
        "subscribe": "mqtt://HOST:PORT", "publish": "mqtt://HOST:PORT", "request": "mqtt://HOST:PORT",
        "connect": "ws://HOST:PORT/PATH",
    ]
    private static let notText = "bytes that are not UTF-8, or a noncharacter"

    /// The table of this program. Reading the parser's description takes a while.
    static let shared = CommandTable()

    private let commands: [Command]
    /// The options that every command takes.
    private let common: Set<String> = ["--help", "--version", "-h"]

    /// Reads the table from the argument parser.
    init() {
        struct Dump: Decodable { let command: Command }
        let limits = MessageLimits(bytes: 16 << 20)
        let dump = try? Body(json: Bytes(SignalboxTool._dumpHelp()), limits: limits).decode(Dump.self)
        commands = dump?.command.subcommands ?? []
    }

    /// The commands, then their subcommands, each with its name after the program's.
    private var all: [(name: String, command: Command)] {
        commands.map { ($0.commandName, $0) }
            + commands.flatMap { outer in
                (outer.subcommands ?? []).map { ("\(outer.commandName) \($0.commandName)", $0) }
            }
    }

    /// Returns why the arguments cannot be used although the parser may accept them, or `nil`.
    func refusal(of arguments: [String]) -> String? {
        let line = Line(arguments, in: self)
        if let problem = hostHabit(in: line) { return problem }
        // The parser shows the general help for a command that does not exist.
        if line.command == "help", let problem = unknownName(in: arguments) { return problem }
        for (index, item) in line.items.enumerated() where RawArguments.isEscaped(item.value) {
            switch item.role {
            case .value(let option):
                guard !CommandTable.rawOptions.contains(option) else { continue }
                return "\(option): the value is not text: it has \(CommandTable.notText)"
            case .positional:
                guard item.value != line.command else { return unknownCommand(item.value) }
                guard !line.namesFile(item.value, at: index) else { continue }
                return "an argument of '\(line.command ?? "signalbox")' is not text: it has \(CommandTable.notText)"
            // The rest of a short option may be its value, and a secret.
            case .option:
                let name = item.value.hasPrefix("--") ? item.value : String(item.value.prefix(2))
                return "Unknown option '\(RawArguments.shown(name))'"
            }
        }
        return nil
    }

    /// Returns a sentence about the first unknown command or option, or `nil` if all are known.
    func unknownName(in arguments: [String]) -> String? {
        let line = Line(arguments, in: self)
        if let name = line.command, name != "help" || line.items.count > 1 {
            let wanted = name == "help" ? line.items[1].value : line.items[0].value
            let known = commands.first { $0.commandName == wanted }
            guard known != nil || name == "help" && wanted.hasPrefix("-") else { return unknownCommand(wanted) }
            if let problem = unknownSubcommand(of: known, in: line) { return problem }
        }
        for item in line.items {
            guard case .option = item.role, !line.options.contains(item.value), !common.contains(item.value) else {
                continue
            }
            // The parser itself has options that it does not list.
            guard !item.value.hasPrefix("--generate"), !item.value.hasPrefix("--experimental") else { continue }
            return unknownOption(item.value, of: line)
        }
        return nil
    }

    /// Returns a sentence about the first argument of a command with subcommands, if it names no subcommand.
    private func unknownSubcommand(of command: Command?, in line: Line) -> String? {
        guard let command, let names = command.subcommands?.map(\.commandName), line.command == command.commandName,
            line.items.count > 1, line.items[1].role == .positional
        else { return nil }
        let sentence = unknownCommand(line.items[1].value, among: names)
        return sentence.replacing(
            "Expected a command first.",
            with: "Expected a command of '\(command.commandName)' first."
        )
    }

    private func unknownCommand(_ name: String) -> String { unknownCommand(name, among: commands.map(\.commandName)) }

    private func unknownCommand(_ name: String, among names: [String]) -> String {
        let nearest =
            name.count > 1 ? names.first { $0.hasPrefix(name) } ?? NameSuggestion.nearest(to: name, among: names) : nil
        let advice = nearest.map { "Did you mean '\($0)'?" } ?? "The commands are: \(names.joined(separator: ", "))."
        guard !RawArguments.isEscaped(name) else { return "Unknown command '\(RawArguments.shown(name))'. \(advice)" }
        // Anything else may be a URL with a password.
        let isName = name.count <= 32 && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
        return isName ? "Unknown command '\(name)'. \(advice)" : "Expected a command first. \(advice)"
    }

    private func unknownOption(_ name: String, of line: Line) -> String {
        let isHost = ["--host", "--port", "-p"].contains(name) || name == "-c" && line.command == "connect"
        if isHost, let advice = CommandTable.urlAdvice(line) {
            return "Unknown option '\(name)'. \(advice)"
        }
        if ["-V", "--protocol-version"].contains(name), line.options.contains("--v311") {
            return "Unknown option '\(name)'. MQTT 5 is the default; '--v311' selects MQTT 3.1.1."
        }
        if ["--config", "-c"].contains(name), let advice = CommandTable.configurationAdvice(line) {
            return "Unknown option '\(name)'. \(advice)"
        }
        let isShort = !name.hasPrefix("--") && !line.options.contains("-\(name)")
        // The rest of a short option may be its value, and a secret.
        let shown = isShort ? String(name.prefix(2)) : RawArguments.shown(name)
        guard !line.valued.contains(shown) else {
            return "The value of '\(shown)' must be a separate argument, such as \(shown) VALUE."
        }
        if let sentence = FamiliarOptions.sentence(about: shown, in: line.command) {
            return "Unknown option '\(shown)'. \(sentence)"
        }
        let advice = suggestion(for: name, shown, in: line).map { " Did you mean '\($0)'?" } ?? ""
        return "Unknown option '\(shown)'.\(advice)"
    }

    private func suggestion(for name: String, _ shown: String, in line: Line) -> String? {
        let options = line.options.union(common)
        let familiar = FamiliarOptions.replacements(for: shown, in: line.command)
        if let present = familiar.first(where: { options.contains(CommandTable.option(of: $0)) }) { return present }
        // A name that another client has is no misspelling.
        let nearest = familiar.isEmpty ? nearestOption(to: name, among: options.sorted()) : nil
        return nearest ?? nearestOwner(of: [shown] + familiar)
    }

    /// Returns the first command that has one of the options, with the option there.
    private func nearestOwner(of texts: [String]) -> String? {
        for text in texts {
            let name = CommandTable.option(of: text)
            let owner = all.first { $0.command.options.contains { $0.name == name } }
            if let owner { return "\(owner.name) \(text)" }
        }
        return nil
    }

    /// Returns the option at the start of a text that may have a value, too.
    private static func option(of text: String) -> String { String(text.prefix { $0 != " " }) }

    private func nearestOption(to name: String, among options: [String]) -> String? {
        let long = options.filter { $0.hasPrefix("--") }
        guard !name.hasPrefix("--"), let letter = name.dropFirst().first else {
            let names = long.map { String($0.dropFirst(2)) }
            let written = String(name.dropFirst(2))
            let nearest = names.first { written.count > 1 && $0.hasPrefix(written) }
            return (nearest ?? nearestName(to: written, among: names)).map { "--\($0)" }
        }
        if name.count > 2, long.contains("-\(name)") { return "-\(name)" }
        // An option that removes protection is never a guess.
        return long.first { $0.dropFirst(2).first == letter && $0 != "--insecure" }
    }

    /// Returns the nearest name. Options have hyphens where keys of a configuration have underscores.
    private func nearestName(to name: String, among names: [String]) -> String? {
        let keys = names.map { $0.replacing("-", with: "_") }
        return NameSuggestion.nearest(to: name, among: keys).map { $0.replacing("_", with: "-") }
    }

    /// `-h HOST` is another client's option. Here, `-h` alone shows the help.
    private func hostHabit(in line: Line) -> String? {
        guard let advice = CommandTable.urlAdvice(line) else { return nil }
        for (index, item) in line.items.enumerated() {
            guard case .option = item.role, item.value.hasPrefix("-h") else { continue }
            let isFollowed = index + 1 < line.items.count && line.items[index + 1].role == .positional
            guard item.value != "-h" || isFollowed else { continue }
            return "-h does not name a host; it shows the help. \(advice)"
        }
        return nil
    }

    private static func configurationAdvice(_ line: Line) -> String? {
        guard let command = line.command, fileArguments[command] != nil, !line.options.contains("--config") else {
            return nil
        }
        let rest = ["send": " ACTION", "navigate": " URL", "explain": " --body TEXT"][command] ?? ""
        let first = command == "bridge" ? "PAGE " : ""
        return "'\(command)' takes the configuration as an argument: signalbox \(command) \(first)CONFIG\(rest)"
    }

    private static func urlAdvice(_ line: Line) -> String? {
        guard let command = line.command, let url = serverURLs[command] else { return nil }
        return "Write the \(command == "connect" ? "server" : "broker") as a URL: signalbox \(command) \(url)"
    }
}

extension CommandTable.Command {
    /// The names of the options, each with whether it takes a value.
    fileprivate var options: [(name: String, takesValue: Bool)] {
        (arguments ?? []).flatMap { argument in
            (argument.names ?? []).map { ($0.text, argument.kind == "option") }
        }
    }
}

extension CommandTable {
    /// A command line whose parts are classified as far as possible without the parser.
    private struct Line {
        enum Role: Equatable {
            case positional
            case option
            /// The value of this option.
            case value(String)
        }

        /// The command with its subcommand, such as `dead list`, or `nil` if there is only an option.
        let command: String?
        /// The options of the command.
        let options: Set<String>
        /// Those of the options that take a value.
        let valued: Set<String>
        /// The arguments; an option and its value are separate, and `--` is left out.
        var items: [(value: String, role: Role)] = []

        init(_ arguments: [String], in table: CommandTable) {
            let first = arguments.first.flatMap { $0.hasPrefix("-") ? nil : $0 }
            let nested = arguments.prefix(2).joined(separator: " ")
            command = table.all.contains { $0.name == nested } ? nested : first
            let known = table.all.first { [command] in $0.name == command }?.command.options ?? []
            options = Set(known.map(\.name))
            valued = Set(known.filter(\.takesValue).map(\.name))
            var rest = arguments[...]
            while let next = rest.popFirst() {
                guard next != "--" else {
                    items += rest.map { ($0, .positional) }
                    return
                }
                guard next.hasPrefix("-"), next.count > 1 else {
                    items.append((next, .positional))
                    continue
                }
                if let flags = flags(next) {
                    items += flags.map { ($0, .option) }
                    continue
                }
                let (name, value) = split(next)
                items.append((name, .option))
                if let value {
                    items.append((value, .value(name)))
                } else if valued.contains(name), let value = rest.first, name != "--raw" || !value.hasPrefix("-") {
                    items.append((value, .value(name)))
                    rest = rest.dropFirst()
                }
            }
        }

        /// Whether the argument at this index of ``items`` is the name of a file.
        func namesFile(_ value: String, at index: Int) -> Bool {
            guard let command, let count = CommandTable.fileArguments[command] else { return false }
            // The first arguments are the command.
            let words = command.split(separator: " ").count
            let position = items[..<index].count { $0.role == .positional } - words
            return position < count && !(command == "connect" && value.contains("://"))
        }

        /// Returns the options of `-lr`, or `nil` if these are not all flags of the command.
        private func flags(_ text: String) -> [String]? {
            guard !text.hasPrefix("--"), text.count > 2, !options.contains(text) else { return nil }
            let names = text.dropFirst().map { "-\($0)" }
            return names.allSatisfy { options.contains($0) && !valued.contains($0) } ? names : nil
        }

        /// Splits `--name=value` and `-n=value`.
        private func split(_ text: String) -> (name: String, value: String?) {
            guard let equals = text.firstIndex(of: "=") else { return (text, nil) }
            let name = String(text[..<equals])
            guard text.hasPrefix("--") || options.contains(name) else { return (text, nil) }
            return (name, String(text[text.index(after: equals)...]))
        }
    }
}
