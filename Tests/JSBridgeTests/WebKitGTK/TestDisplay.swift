#if WebKitGTK
import Foundation

@testable import JSBridge

/// The display that the tests of web views need. Without one they are skipped, unless SIGNALBOX_NEEDS_DISPLAY says that there
/// must be one: then a test fails.
enum TestDisplay {
    static let isNeeded = ProcessInfo.processInfo.environment["SIGNALBOX_NEEDS_DISPLAY"]?.isEmpty == false
    private static let skipping: Void = print(
        "The tests of WebKitGTK are skipped: there is no display. Run them by xvfb-run -a."
    )

    /// Whether there is one.
    static func opens() async -> Bool {
        do {
            try await GLibThread.begin()
            return true
        } catch {
            skipping
            return false
        }
    }
}
#endif
