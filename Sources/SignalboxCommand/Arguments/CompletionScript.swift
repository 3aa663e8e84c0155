import Foundation

/// What the completion scripts of the argument parser lack.
enum CompletionScript {
    /// Whether the arguments ask for a script.
    static func isRequested(by arguments: [String]) -> Bool {
        arguments.first?.hasPrefix("--generate-completion-script") == true
    }

    /// Returns the script for bash, zsh or fish with the names of the commands after `help`.
    static func completingHelp(in script: String, commands: [String]) -> String {
        let names = commands.joined(separator: " ")
        if script.contains("__signalbox_should_offer_completions_for_positional") {
            let condition = #"__signalbox_should_offer_completions_for_positional "signalbox help" -eq 1"#
            return "\(script)\ncomplete -c 'signalbox' -n '\(condition)' -fa '\(names)'"
        }
        guard let help = script.range(of: "_signalbox_help() {"),
            let end = script.range(of: "\n}", range: help.upperBound..<script.endIndex)
        else { return script }
        let line =
            "\n    [[ ${positional_number} -eq 1 ]] && __signalbox_add_completions -W '\(commands.joined(separator: "\n"))'"
        let isBash = script.contains("COMPREPLY")
        return isBash
            ? String(script[..<end.lowerBound] + line + script[end.lowerBound...])
            : script.replacing("'*:subcommands:'", with: "':subcommand:(\(names))'")
    }
}
