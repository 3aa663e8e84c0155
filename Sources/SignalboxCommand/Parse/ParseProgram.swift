import AppScheme

/// URLs read and shown, from the first to the exit status.
enum ParseProgram {
    /// Reads all of them, and says how it went. Nothing is called. Its diagnostics are out when it returns.
    static func status(of request: ParseRequest) async -> CommandStatus {
        let routes: AppRoutes?
        do {
            routes = try request.routes.map { path throws(CommandRefusal) in
                try ConfigurationFile.routes(path, source: request.source)
            }
        } catch {
            return await error.told()
        }
        let output = StandardOutput()
        return await URLLines(input: request.input, output: output).status { line in
            let parsed = ParsedURL(line, base: request.base, routes: routes)
            return URLLines.Line(
                bytes: output.isTerminal ? parsed.terminalLine : parsed.jsonLine,
                isBad: !parsed.isGood
            )
        }
    }
}
