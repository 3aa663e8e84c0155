import NavigationChain
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import JSBridge

@Suite struct WebViewConfigurationTests {
    typealias Change = @Sendable (inout WebViewConfiguration) -> Void

    @Test func theDefaultsAreInRange() throws {
        try WebViewConfiguration.testing().validate()
    }

    private static let faults: [(String, Change)] = [
        ("pixels", { $0.display = .window(width: 0, height: 1) }),
        ("pixels", { $0.display = .offscreen(width: 1, height: 16_385) }),
        ("deadline", { $0.navigationDeadline = .zero }), ("deadline", { $0.navigationDeadline = .seconds(3_601) }),
        ("navigations", { $0.navigationsWaiting = 0 }), ("navigations", { $0.navigationsWaiting = 10_001 }),
        ("in flight", { $0.messagesInFlight = 0 }), ("in flight", { $0.messagesInFlight = 100_001 }),
        ("bytes in flight", { $0.bytesInFlight = 65_535 }),
        ("waiting in the page", { $0.messagesWaitingInPage = 0 }),
        ("waiting in the page", { $0.messagesWaitingInPage = 1_000_001 }),
        ("to the page", { $0.messagesToPage = 0 }), ("to the page", { $0.messagesToPage = 1_000_001 }),
        ("listener", { $0.messagesWithoutListener = 0 }), ("listener", { $0.messagesWithoutListener = 1_000_001 }),
        ("unresponsive", { $0.unresponsiveLimit = .milliseconds(999) }),
        ("reloads", { $0.reloads = -1 }), ("reloads", { $0.reloads = 1_001 }),
        ("reload", { $0.reloadCap = .zero }), ("reload", { $0.reloadCap = .seconds(3_601) }),
        ("console", { $0.consoleLinesPerSecond = 0 }),
    ]

    @Test(arguments: faults.indices) func valuesOutOfRangeAreRefusedByName(index: Int) throws {
        let (word, change) = Self.faults[index]
        var configuration = try WebViewConfiguration.testing()
        change(&configuration)
        let error = #expect(throws: JSBridgeError.self) { try configuration.validate() }
        #expect(
            error?.code == .invalidConfiguration && error?.detail.contains(word) == true,
            "\(String(describing: error))"
        )
    }

    @Test func rangeBoundsAreAccepted() throws {
        for changes: [Change] in [
            [
                { $0.display = .window(width: 1, height: 16_384) }, { $0.navigationsWaiting = 1 },
                { $0.messagesInFlight = 1 },
            ],
            [{ $0.limits = MessageLimits(bytes: 100) }, { $0.bytesInFlight = 100 }, { $0.reloads = 0 }],
            [
                { $0.messagesInFlight = 100_000 }, { $0.messagesToPage = 1_000_000 },
                { $0.unresponsiveLimit = .seconds(1) },
            ],
        ] {
            var configuration = try WebViewConfiguration.testing()
            for change in changes { change(&configuration) }
            try configuration.validate()
        }
    }
}

@Suite struct WebViewScriptsTests {
    @Test func scriptsAreSmall() {
        #expect(PackageResources.page_js.count < 6_000)
        #expect(PackageResources.relay_js.count < 10_000)
    }

    @Test func patternsNameHostsWithoutPorts() throws {
        let scripts = WebViewScripts(try .testing())
        #expect(scripts.patterns == ["https://app.example/*", "https://other.example/*"])
        #expect(scripts.rawHandlers == ["page", "user"])
    }

    @Test func zoomIsDisabledOnlyIfConfigured() throws {
        #expect(WebViewScripts(try .testing()).zoom == nil)
        #expect(WebViewScripts(try .testing(disablesZoom: true)).zoom?.contains("user-scalable=no") == true)
    }

    @Test func settingsAreInsertedIntoTheScripts() throws {
        var configuration = try WebViewConfiguration.testing()
        configuration.messagesWaitingInPage = 12_345
        configuration.messagesWithoutListener = 54_321
        let scripts = WebViewScripts(configuration)
        #expect(
            scripts.relay.contains("messagesWaiting: 12345,")
                && scripts.page.contains("messagesWithoutListener: 54321,")
        )
        for script in [scripts.relay, scripts.page] {
            #expect(script.contains(#"origins: ["https://app.example","https://other.example:8443"],"#))
        }
    }
}
