import NavigationChain
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import JSBridge

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

    @Test func zoomIsKeptOnlyWhereTheConfigurationSaysSo() throws {
        #expect(WebViewScripts(try .testing()).zoom == nil)
        #expect(WebViewScripts(try .testing(disablesZoom: true)).zoom?.contains("user-scalable=no") == true)
    }

    @Test func settingsAreInTheScripts() throws {
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
