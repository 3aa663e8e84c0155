import JSBridge
import SignalboxCore

/// The script that gives a page its bridge: browser.js around bridge.js.
enum BrowserScript {
    /// How long a connection must have lasted for the waits to begin anew, in milliseconds.
    private static let lasting = 2_000
    /// The longest first wait before a page connects again, in milliseconds.
    private static let firstWait = 250

    static func text(for configuration: BrowserConfiguration) -> [UInt8] {
        let settings: [(StaticString, Int)] = [
            ("limit", configuration.limits.bytes), ("inFlight", configuration.messagesInFlight),
            ("waiting", configuration.messagesWaitingInPage),
            ("withoutListener", configuration.messagesWithoutListener),
            ("patience", milliseconds(configuration.connectionPatience)), ("lasting", lasting),
            ("firstWait", firstWait), ("longestWait", milliseconds(configuration.reconnectCap)),
        ]
        var text = JSONText()
        text.append(literal: "{\"path\":")
        text.append(string: BrowserConfiguration.socketPath)
        for (name, value) in settings { text.append(literal: ",\"\(name)\":\(value)") }
        text.append(UInt8(ascii: "}"))
        return PackageResources.browser_js + Array("(".utf8) + text.bytes + Array(",\n".utf8) + BridgeScript.text
            + Array(");\n".utf8)
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}
