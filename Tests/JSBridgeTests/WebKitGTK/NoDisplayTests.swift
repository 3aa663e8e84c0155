#if WebKitGTK
import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct NoDisplayTests {
    @Test func withoutADisplayTheRunEndsAndSaysWhatToDo() async {
        await #expect(processExitsWith: .success) {
            unsetenv("DISPLAY")
            unsetenv("WAYLAND_DISPLAY")
            setenv("XDG_RUNTIME_DIR", "/nowhere", 1)
            let page = try BridgeConfigurator().build(url: URLText("http://127.0.0.1/"))
            let engine = try WebKitGTKEngine(
                WebViewConfiguration(source: "web", page: page),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            // It can be tried again.
            for _ in 0..<2 {
                do {
                    try await engine.run(into: RecordingIntake())
                    exit(2)
                } catch let error as JSBridgeError {
                    guard error.code == .noDisplay, error.detail.contains("xvfb-run -a") else { exit(3) }
                }
            }
        }
    }

    @Test(.enabled(if: TestDisplay.isNeeded)) func whereADisplayIsNeededThereIsOne() async {
        #expect(await TestDisplay.opens())
    }

    @Test func whatIsOutOfRangeIsRefusedBeforeThereIsAView() throws {
        let page = try BridgeConfigurator().build(url: URLText("http://127.0.0.1/"))
        var configuration = WebViewConfiguration(source: "web", page: page)
        configuration.display = .offscreen(width: 0, height: 1)
        let error = #expect(throws: JSBridgeError.self) {
            try WebKitGTKEngine(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
#endif
