import ArgumentParser
import Signalbox
import SignalboxCore

/// The options for the headers of the request with which a command asks its server for a WebSocket.
struct HeaderArguments: ParsableArguments {
    @Option(help: ArgumentHelp("An additional request header, 'Name: value'; may be repeated.", valueName: "header"))
    var header: [String] = []

    @Option(
        help: ArgumentHelp(
            "A header with its value from an environment variable, 'Name: VARIABLE'.",
            valueName: "header"
        )
    )
    var headerEnv: [String] = []

    @Option(help: ArgumentHelp("A header with its value from a file, 'Name: PATH'.", valueName: "header"))
    var headerFile: [String] = []

    /// The name of an option that the user gave, or `nil` if there is none.
    var given: String? {
        [("--header", header), ("--header-env", headerEnv), ("--header-file", headerFile)]
            .first { !$0.1.isEmpty }?.0
    }

    /// The options with the files that they name.
    var files: [(option: String, path: String?)] {
        let option = "--header-file"
        return headerFile.map { (option, try? HeaderArguments.split($0, option).value) }
    }

    /// Returns the headers.
    ///
    /// - Parameters:
    ///   - secretOptions: The options that take a secret, for the message about a secret in an argument.
    ///   - make: Returns the header with this name and value.
    func headers<Header>(
        secretOptions: String,
        _ make: (_ name: String, _ value: Secret) -> Header
    ) throws(ValidationError) -> [Header] {
        let plain = try header.map { text throws(ValidationError) in
            let (name, value) = try HeaderArguments.split(text, "--header")
            guard Redaction.redacted("\(name): \(value)") == "\(name): \(value)" else {
                throw ValidationError("--header: other users can see a secret in an argument; use \(secretOptions)")
            }
            return make(name, .text(value))
        }
        let fromVariables = try headerEnv.map { text throws(ValidationError) in
            let (name, value) = try HeaderArguments.split(text, "--header-env")
            return make(name, try VariableName.secret(in: value, option: "--header-env"))
        }
        let fromFiles = try headerFile.map { text throws(ValidationError) in
            let (name, value) = try HeaderArguments.split(text, "--header-file")
            return make(name, .file(RawArguments.textPath(value)))
        }
        return plain + fromVariables + fromFiles
    }

    private static func split(
        _ text: String,
        _ option: String
    ) throws(ValidationError) -> (name: String, value: String) {
        guard let colon = text.firstIndex(of: ":") else {
            throw ValidationError("\(option): expected a name, a colon and a value, such as 'X-Client: kiosk'")
        }
        let value = text[text.index(after: colon)...].drop { $0 == " " }
        return (String(text[..<colon]), String(value))
    }
}
