/// What the completion scripts of the argument parser lack.
enum CompletionScript {
    /// Whether the arguments ask for a script.
    static func isRequested(by arguments: [String]) -> Bool {
        arguments.first?.hasPrefix("--generate-completion-script") == true
    }

    /// bash also splits words at `:` and `=`, so a URL would count as several arguments, and no option would complete after
    /// it. This function joins what no space separates, and then calls the generated one. It works with bash 3.2, too.
    private static let wholeWords = #"""

        __signalbox_whole_words() {
            local rest="${COMP_LINE}" word
            local -a words=()
            local -i index current=0
            for index in "${!COMP_WORDS[@]}"; do
                word="${COMP_WORDS[index]}"
                if ((index > 0)) && [[ "${rest}" != [[:space:]]* ]]; then
                    words[${#words[@]} - 1]+="${word}"
                else
                    rest="${rest#"${rest%%[![:space:]]*}"}"
                    words+=("${word}")
                fi
                rest="${rest#"${word}"}"
                if ((index == COMP_CWORD)); then current=${#words[@]}-1; fi
            done
            COMP_WORDS=("${words[@]}")
            COMP_CWORD="${current}"
            _signalbox "${1}" "${words[current]}" "${words[current > 0 ? current - 1 : 0]}"
        }
        complete -o filenames -F __signalbox_whole_words signalbox
        """#

    /// Returns the script for bash, zsh or fish with what it lacks.
    static func completed(_ script: String, commands: [String]) -> String {
        let script = completingHelp(in: script, commands: commands)
        // Behind a repeated argument that nothing completes, zsh would not complete options either.
        return isBash(script) ? script + wholeWords : script.replacing("'*:url:'", with: "'*:url:()'")
    }

    private static func isBash(_ script: String) -> Bool { script.contains("COMPREPLY") }

    /// Returns the script with the names of the commands after `help`.
    private static func completingHelp(in script: String, commands: [String]) -> String {
        let names = commands.joined(separator: " ")
        if script.contains("__signalbox_should_offer_completions_for_positional") {
            let condition = #"__signalbox_should_offer_completions_for_positional "signalbox help" -eq 1"#
            return "\(script)\ncomplete -c 'signalbox' -n '\(condition)' -fa '\(names)'"
        }
        guard let help = script.firstRange(of: "_signalbox_help() {"),
            let end = script[help.upperBound...].firstRange(of: "\n}")
        else { return script }
        let line =
            "\n    [[ ${positional_number} -eq 1 ]] && __signalbox_add_completions -W '\(commands.joined(separator: "\n"))'"
        return isBash(script)
            ? String(script[..<end.lowerBound] + line + script[end.lowerBound...])
            : script.replacing("'*:subcommands:'", with: "':subcommand:(\(names))'")
    }
}
