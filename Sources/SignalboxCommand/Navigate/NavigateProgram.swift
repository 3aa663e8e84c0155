import NavigationChain
import SignalboxRoutes

/// Verdicts about URLs, from the first to the exit status.
enum NavigateProgram {
    /// Asks about all of them, and says how it went. Nothing is opened. Its diagnostics are out when it returns.
    static func status(of request: NavigateRequest) async -> CommandStatus {
        let router: NavigationRouter
        do {
            router = try chain(in: request.config)
        } catch {
            return await error.told()
        }
        let output = StandardOutput()
        return await URLLines(input: request.input, output: output).status { line in
            let verdict = await verdict(about: line, router, request)
            return URLLines.Line(
                bytes: output.isTerminal ? verdict.terminalLine : verdict.jsonLine,
                isBad: verdict.policy == .cancel
            )
        }
    }

    private static func chain(in file: String) throws(CommandRefusal) -> NavigationRouter {
        let configuration = try ConfigurationFile.read(file, for: .navigation)
        guard let navigation = configuration.navigation else {
            throw CommandRefusal(.invalidConfiguration, "\(file): it has no navigation chain")
        }
        return try rehearsal(of: navigation, file: file)
    }

    /// The chain, whose openers do nothing.
    ///
    /// - Parameter file: the configuration's, for messages.
    static func rehearsal(of navigation: NavigationSection, file: String) throws(CommandRefusal) -> NavigationRouter {
        do throws(NavigationChainError) {
            return try navigation.rehearsal()
        } catch {
            throw CommandRefusal(.invalidConfiguration, "\(file): \(error)")
        }
    }

    private static func verdict(
        about line: InputLine,
        _ router: NavigationRouter,
        _ request: NavigateRequest
    ) async -> VerdictLine {
        do throws(URLTextError) {
            let text = try line.text()
            return VerdictLine(line, await router.decide(text, kind: request.kind, frame: request.frame))
        } catch {
            return VerdictLine(line, refused: error)
        }
    }
}
