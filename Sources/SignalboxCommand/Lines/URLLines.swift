/// Writes one line for each URL of a command, in order, and waits for whoever reads them: memory does not grow with the
/// number of URLs.
struct URLLines {
    /// A URL's line.
    struct Line {
        /// With its newline.
        let bytes: [UInt8]
        /// Whether the URL is one of those that make status 1.
        let isBad: Bool
    }

    /// After so many bytes the lines are written, also when more follow at once.
    private static let batchSize = 256 << 10

    let input: URLInput
    let output: StandardOutput

    /// Runs to the end of the input or of the output. Its diagnostics are out when it returns.
    ///
    /// - Parameter line: makes the line of one URL.
    /// - Returns: `done`, `notAsExpected` when a URL was bad, or the status of what ended it early.
    func status(_ line: (InputLine) async -> Line) async -> CommandStatus {
        var bad = false
        do {
            try await input.forEachBatch { batch in
                var lines: [UInt8] = []
                for item in batch {
                    let made = await line(item)
                    lines += made.bytes
                    bad = bad || made.isBad
                    if lines.count >= URLLines.batchSize {
                        try await output.write(lines)
                        lines.removeAll(keepingCapacity: true)
                    }
                }
                if !lines.isEmpty { try await output.write(lines) }
            }
        } catch let failure as OutputFailure {
            return await CommandRefusal(.outputFailed, "\(failure)").told()
        } catch {
            return await CommandRefusal(error).told()
        }
        return bad ? .notAsExpected : .done
    }
}
