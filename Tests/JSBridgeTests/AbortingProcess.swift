import Foundation
import Testing

/// A separate process that runs a chain of promises, which JavaScriptCore 2.50 may abort: on a busy machine a thread of the
/// library was seen to do so in about one of thirty runs.
enum AbortingProcess {
    /// Five aborts in a row are no accident.
    private static let attempts = 5
    private static let mark: StaticString = "JavaScriptCore aborted the process"

    /// Runs the exit test until its process ends without an abort, which ``reportAborts()`` has it say on standard output.
    static func expectItsEnd(_ run: () async -> ExitTest.Result?) async {
        for _ in 0..<attempts {
            // What else went wrong is recorded by the expectation itself.
            guard let result = await run() else { return }
            if !String(decoding: result.standardOutputContent, as: UTF8.self).contains("\(mark)") { return }
        }
        Issue.record("\(mark) in \(attempts) of \(attempts) runs")
    }

    /// In the exit test: an abort ends the process with success and the mark. Any other signal ends it as usual.
    static func reportAborts() {
        signal(SIGABRT) { _ in
            _ = write(STDOUT_FILENO, AbortingProcess.mark.utf8Start, AbortingProcess.mark.utf8CodeUnitCount)
            _exit(EXIT_SUCCESS)
        }
    }
}
